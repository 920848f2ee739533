import { quoted } from '../../base/text/foreign-text.ts'
import { matchesGlob } from '../../base/glob.ts'
import * as check from '#checks/policy'
import type { Finding, Problem } from '../file/problem.ts'
import { fileSchema, ownFindings, readBySchema } from '../file/schema-findings.ts'
import { located, readYaml } from '../file/yaml-document.ts'
import {
  findProduction,
  productionPatternProblem,
  type SourcedName,
} from '../guard/production-names.ts'
import { type Policy, policyJsonSchema } from './policy-schema.ts'

/** Limits the size of a policy. */
export const MAX_POLICY_BYTES = 256 * 1024
const MAX_PROBLEMS = 100

const schema = fileSchema(policyJsonSchema(), check)

export type ReadPolicy =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Reads the text of a policy, and returns either the policy or all its problems. */
export function readPolicy(text: string): ReadPolicy {
  const document = readYaml(text)
  const value = document.value ?? {}
  const wrong = ownFindings(value, schema, MAX_PROBLEMS)
  const findings = wrong.length === 0 ? [...wrong, ...patternFindings(value)] : wrong
  const problems = [
    ...document.problems,
    ...(document.value === undefined ? [] : findings.map((each) => located(each, document))),
  ].sort((a, b) => a.line - b.line || a.column - b.column)
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, policy: readBySchema(value, schema) as Policy }
}

function patternFindings(value: object): readonly Finding[] {
  const { forbidden = [] } = value as Partial<Policy>
  return forbidden.flatMap((pattern, index): Finding[] => {
    const message = productionPatternProblem(pattern)
    if (message === undefined) return []
    return [{ code: 'invalid_value', message, path: ['forbidden', index] }]
  })
}

/** One reason for which a policy does not allow something, and what to write instead. */
export interface Violation {
  readonly wrong: string
  readonly fix: string
  readonly of?: 'environment'
}

/** A rule, as written or parsed. */
interface CheckedRule {
  readonly name: string
  readonly match?: unknown
}

/** Returns why a policy does not allow tests in an environment, or under other names. */
export function placeViolations(
  environment: string | undefined,
  names: readonly SourcedName[],
  { environments, forbidden }: Policy,
): readonly Violation[] {
  const found: Violation[] = []
  const known = environments.map((each) => each.toLowerCase())
  if (environment !== undefined && !known.includes(environment.toLowerCase())) {
    const wrong = `the policy does not allow the environment ${quoted(environment)}`
    found.push({ wrong, fix: `use one of ${environments.join(', ')}`, of: 'environment' })
  }
  const production = findProduction(names, forbidden)
  if (production !== undefined) {
    const { where, name, pattern } = production
    const wrong = `${where} ${quoted(name)} matches ${pattern}, which the policy forbids`
    found.push({ wrong, fix: 'test another environment' })
  }
  return found
}

/** Returns why a policy does not allow a rule with these faults. */
export function ruleViolations(
  rule: CheckedRule,
  uses: readonly string[],
  { faults, neverTools }: Policy,
): readonly Violation[] {
  const found: Violation[] = []
  for (const name of uses) {
    if (faults === undefined || faults.includes(name)) continue
    const wrong = `the policy does not allow the fault ${quoted(name)} in the rule ${quoted(rule.name)}`
    found.push({ wrong, fix: `use one of ${faults.join(', ')}` })
  }
  if (neverTools === undefined) return found
  const tools = namedTools(rule)
  if (tools === undefined) {
    const wrong = `the rule ${quoted(rule.name)} does not name its tools exactly, which neverTools in the policy requires`
    found.push({ wrong, fix: 'write match: { tool: NAME } without wildcards' })
  }
  return [...found, ...(tools ?? []).flatMap((tool) => toolViolations(tool, neverTools))]
}

/** Returns why a policy does not allow experiments with a tool. */
export function toolViolations(tool: string, never: readonly string[] = []): readonly Violation[] {
  if (!never.some((glob) => matchesGlob(glob, tool))) return []
  const wrong = `the policy forbids experiments with the tool ${quoted(tool)}`
  return [{ wrong, fix: 'choose another tool' }]
}

/** Returns the tools of a rule that names them exactly; undefined for any other rule. */
export function namedTools({ match }: CheckedRule): readonly string[] | undefined {
  const tool = (match as Readonly<Record<string, unknown>> | undefined)?.['tool']
  const names: readonly unknown[] = Array.isArray(tool) ? tool : [tool]
  const texts = names.filter((name) => typeof name === 'string')
  return texts.length === names.length && !texts.some((name) => /[*?]/.test(name))
    ? texts
    : undefined
}
