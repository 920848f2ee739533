import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { parse } from 'yaml'
import { FAULTS } from '../../src/filters/index.ts'
import { accepted } from '../rules/rules-text.ts'

/** The faults that rules about calls may have. */
export const CALL_FAULTS = FAULTS.filter(({ name }) => name !== 'connection')

/** The keys of a rule about calls of the tool `echo`. */
export const ECHO = 'match: { tool: echo }'

/** A rule about the tool `echo`, or with the given `keys`, that has one fault as the file has it. */
export function oneFault(fault: string, keys = ECHO, name = 'bad'): RuleSpec {
  const text = `rules:\n  - name: ${name}\n    ${keys}\n    faults:\n      - ${fault}\n`
  return accepted(text).rules[0]!
}

/** A rule whose fault is replaced by those that a test gives the sidecar. */
export const REPLACED = oneFault('delay: { fixed: 1ms }', ECHO, 'r')

/** The example of a fault as `oneFault` takes it. */
export function exampleOf({
  name,
  example,
}: Pick<(typeof FAULTS)[number], 'name' | 'example'>): string {
  const [shown] = parse(example) as readonly { readonly faults: readonly unknown[] }[]
  const [fault] = shown!.faults
  const config = typeof fault === 'string' ? {} : (fault as Record<string, object>)[name]
  return `${name}: ${JSON.stringify(config)}`
}
