import { expect, test } from 'vitest'
import { compileRules } from '../../src/rules/match/compile.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'

const rule: RuleSpec = {
  name: 'moved',
  until: 2000,
  faults: [{ fault: 'reset', config: { at: 'request', how: 'rst' } }] as RuleSpec['faults'],
}

test('a rule of which only the end is moved keeps its memory, and whoever waits for it waits on', () => {
  const states = new RuleStates()
  const [first, later, other] = [
    compileRules({ rules: [rule] }),
    compileRules({ rules: [{ ...rule, until: 9000 }] }),
    compileRules({ rules: [{ ...rule, until: 9000, percent: 50 }] }),
  ] as const
  states.adopt(first, 1000)
  const state = states.of(first.rules[0]!)!
  const { retired } = state.faults
  states.adopt(later, 1500)
  expect(states.of(later.rules[0]!)).toBe(state)
  expect(retired.aborted).toBe(false)
  expect(later.rules[0]!.selection.until).toBe(9000)
  states.adopt(other, 1500)
  expect(states.of(other.rules[0]!)).not.toBe(state)
  expect(retired.aborted).toBe(true)
})
