import { parseRules } from '../../src/rules/file/parse.ts'
import type { Problem } from '../../src/rules/file/problem.ts'
import type { Rule, RulesFile } from '../../src/rules/file/schema.ts'

const REBUILD = 'where a schema in src has changed, run npm run build first'

/** The file that a text is read as. */
export function accepted(text: string | Uint8Array): RulesFile {
  const parsed = parseRules(text)
  if (!parsed.ok) throw new Error(`rejected: ${JSON.stringify(parsed.problems)}; ${REBUILD}`)
  return parsed.file
}

/** Returns the problems of a text. */
export function rejected(text: string | Uint8Array): readonly Problem[] {
  const parsed = parseRules(text)
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.file)}`)
  return parsed.problems
}

/** A file of one rule, whose further keys begin on line 4. */
export function ruleText(keys: string): string {
  return `rules:\n  - name: a\n    faults: [{ abort: { status: 503 } }]\n    ${keys}\n`
}

/** A file of one rule, whose one fault begins on line 3, column 16. */
export function faultText(fault: string): string {
  return `rules:\n  - name: a\n    faults: [  ${fault} ]\n`
}

/** The one rule of a file with these keys. */
export function rule(keys: string): Rule {
  return accepted(ruleText(keys)).rules[0]!
}
