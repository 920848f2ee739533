import * as check from '#checks/policy'
import type { Finding, Problem } from '../file/problem.ts'
import { readValues } from '../file/read-values.ts'
import { fileSchema, schemaFindings } from '../file/schema-findings.ts'
import { nearestKeyAlone } from '../file/unknown-key.ts'
import { located, readYaml } from '../file/yaml-document.ts'
import { productionPatternProblem } from '../guard/production-names.ts'
import { type Policy, policyJsonSchema } from './policy-schema.ts'

/** Limits the size of a policy. */
export const MAX_POLICY_BYTES = 256 * 1024
const MAX_PROBLEMS = 100

const schema = policyJsonSchema()
const checked = fileSchema(schema, check)

export type ReadPolicy =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Reads the text of a policy, and returns either the policy or all its problems. */
export function readPolicy(text: string): ReadPolicy {
  const document = readYaml(text)
  const value = document.value ?? {}
  const wrong = schemaFindings(value, checked, MAX_PROBLEMS).map((each) => nearestKeyAlone(each))
  const findings = wrong.length === 0 ? [...wrong, ...patternFindings(value)] : wrong
  const problems = [
    ...document.problems,
    ...(document.value === undefined ? [] : findings.map((each) => located(each, document))),
  ].sort((a, b) => a.line - b.line || a.column - b.column)
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, policy: readValues(schema, value, schema.definitions) as Policy }
}

function patternFindings(value: object): readonly Finding[] {
  const { forbidden = [] } = value as Partial<Policy>
  return forbidden.flatMap((pattern, index): Finding[] => {
    const message = productionPatternProblem(pattern)
    if (message === undefined) return []
    return [{ code: 'invalid_value', message, path: ['forbidden', index] }]
  })
}
