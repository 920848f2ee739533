import type { ParameterProblem } from '../fault.ts'

/** The problems of an object that must have exactly one of these keys. */
export function exclusive(
  config: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): readonly ParameterProblem[] {
  const given = keys.filter((key) => config[key] !== undefined)
  const names = keys.map((key) => `\`${key}\``).join(', ')
  if (given.length === 0) return [{ path: [], message: `one of ${names} is required` }]
  return given.slice(1).map((key) => ({ path: [key], message: `only one of ${names} is allowed` }))
}

/** The parts of a fault's definition that decide which parameters go together. */
interface Checked {
  readonly oneOf?: readonly string[]
  readonly goesWith?: Readonly<Record<string, string>>
  readonly check?: (config: never) => readonly ParameterProblem[]
}

/** Returns the contradictions between the parameters of a fault. */
export function parameterProblems(fault: Checked, config: unknown): readonly ParameterProblem[] {
  const { oneOf, goesWith = {}, check } = fault
  const given = config as Readonly<Record<string, unknown>>
  const problems = oneOf === undefined ? [] : [...exclusive(given, oneOf)]
  for (const [key, other] of Object.entries(goesWith)) {
    if (given[key] === undefined || given[other] !== undefined) continue
    problems.push({ path: [key], message: `\`${key}\` requires \`${other}\`` })
  }
  return [...problems, ...(check?.(config as never) ?? [])]
}
