import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { accepted } from '../rules/rules-text.ts'

/** A rule about the tool `echo`, or what else is said, with one fault as the file has it. */
export function oneFault(fault: string, keys = 'match: { tool: echo }'): RuleSpec {
  const text = `rules:\n  - name: bad\n    ${keys}\n    faults:\n      - ${fault}\n`
  return accepted(text).rules[0]!
}
