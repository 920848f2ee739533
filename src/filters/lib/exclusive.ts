import type { ParameterProblem } from '../fault.ts'

/** The problems of an object that must have exactly one of these keys. */
export function exclusive(
  config: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): readonly ParameterProblem[] {
  const given = keys.filter((key) => config[key] !== undefined)
  const names = keys.map((key) => `\`${key}\``).join(', ')
  if (given.length === 0) return [{ path: [], message: `needs one of ${names}` }]
  return given
    .slice(1)
    .map((key) => ({ path: [key], message: `only one of ${names} can be given` }))
}
