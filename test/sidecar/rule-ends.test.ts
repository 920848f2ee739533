import { EventEmitter, once } from 'node:events'
import { expect, it } from 'vitest'
import type { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import { RuleEnds } from '../../src/sidecar/rule-ends.ts'
import { nextEnd } from '../../src/rules/select/selection.ts'

it('reports a rule that ends between two looks at the clock, after a timer that fired early', async () => {
  const times = [0, 9.9, 10, 10.5]
  const rules = {
    clock: () => (times.length > 1 ? times.shift()! : times[0]!),
    ruleSet: { rules: [{ name: 'brief', enabled: true, selection: { inPod: true, until: 10 } }] },
    states: { of: () => ({ since: 0, faults: { wake: () => undefined } }) },
  } as unknown as ActiveRules
  const reports = new EventEmitter()
  const ends = new RuleEnds(rules, (names) => void reports.emit('expired', names))
  const reported = once(reports, 'expired')
  ends.follow()
  expect(await reported).toEqual([['brief']])
  ends.close()
})

it('ends rules soon after the clock is set forward, not after the time that was left', async () => {
  let now = 0
  const wakes: string[] = []
  const selection = { inPod: true, until: 3_600_000 }
  const rules = {
    clock: () => now,
    ruleSet: { rules: [{ name: 'long', enabled: true, selection }] },
    states: { of: () => ({ since: 0, faults: { wake: () => void wakes.push('long') } }) },
  } as unknown as ActiveRules
  const reports = new EventEmitter()
  const ends = new RuleEnds(rules, (names) => void reports.emit('expired', names), 5)
  const reported = once(reports, 'expired')
  ends.follow()
  now = 2 * 3_600_000
  expect(await reported).toEqual([['long']])
  expect(wakes).toEqual(['long'])
  ends.close()
})

it('pauses once in each period until the rule ends', () => {
  const repeating = { from: 1_000, until: 1_950, cycle: { period: 400, lasting: 100 } }
  const next = (after: number): number => nextEnd(repeating, 0, after)
  expect([0, 1_000, 1_099].map(next)).toEqual([1_100, 1_100, 1_100])
  expect([1_100, 1_400, 1_499, 1_500].map(next)).toEqual([1_500, 1_500, 1_500, 1_900])
  expect([1_900, 1_950].map(next)).toEqual([1_950, Infinity])
  expect(nextEnd({ cycle: { period: 400, lasting: 400 } }, 0, 900)).toBe(Infinity)
})

it('wakes the faults of a rule whose pause is over before the timer fires', async () => {
  const times = [0, 12]
  const wakes = new EventEmitter()
  const selection = { inPod: true, cycle: { period: 11, lasting: 10 } }
  const rules = {
    clock: () => (times.length > 1 ? times.shift()! : times[0]!),
    ruleSet: { rules: [{ name: 'often', enabled: true, selection }] },
    states: { of: () => ({ since: 0, faults: { wake: () => void wakes.emit('wake') } }) },
  } as unknown as ActiveRules
  const ends = new RuleEnds(rules, () => undefined)
  const woken = once(wakes, 'wake')
  ends.follow()
  await woken
  ends.close()
})
