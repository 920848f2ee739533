import { expect, it } from 'vitest'
import { Arming } from '../../../src/rules/guard/arming.ts'
import { RuleStates } from '../../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../../src/rules/watch/active-rules.ts'
import { TemporaryFaults } from '../../../src/rules/watch/temporary-faults.ts'

it('a fault ends when the clock is set beyond its end, or the machine has slept', async () => {
  let now = 1e12
  const clock = (): number => now
  const states = new RuleStates()
  const rules = new ActiveRules({ states, arming: new Arming(states, clock), limits: {}, clock })
  const ended = new Promise<readonly string[]>((resolve) => {
    new TemporaryFaults(rules, resolve, undefined, 5).add({
      name: 'long',
      for: '1h',
      faults: ['hang'],
    })
  })
  now += 2 * 3_600_000
  expect(await ended).toEqual(['long'])
  expect(rules.temporary.list).toEqual([])
})
