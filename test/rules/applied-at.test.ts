import { describe, expect, it } from 'vitest'
import { compileRules } from '../../src/rules/match/compile.ts'
import { unanchoredRules } from '../../src/rules/match/rule-set.ts'
import { planCall } from '../../src/rules/select/plan.ts'
import type { RuleLimits } from '../../src/rules/guard/rule-limits.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { steadyClock } from '../../src/rules/watch/active-rules.ts'
import { facts } from './facts.ts'
import { accepted } from './rules-text.ts'

const AT = Date.UTC(2026, 2, 1, 9)
const MINUTE = 60_000

/** A sidecar that begins at a time, and how many of its calls are sampled later. */
class Pod {
  readonly states: RuleStates
  readonly limits: RuleLimits

  constructor(text: string, now: number, limits: RuleLimits = {}) {
    this.limits = limits
    this.states = new RuleStates(limits)
    this.take(text, now)
  }

  take(text: string, now: number): void {
    this.#rules = compileRules(accepted(text), this.limits)
    this.states.adopt(this.#rules, now)
  }

  #rules = compileRules({ rules: [] })

  get unanchored(): readonly string[] {
    return unanchoredRules(this.#rules)
  }

  isHit(now: number): boolean {
    return planCall(this.#rules, facts(), this.states, () => now) !== undefined
  }
}

const file = (keys: string, rule = 'for: 20s'): string =>
  `{ ${keys}rules: [{ name: a, ${rule}, faults: [{ abort: { status: 503 } }] }] }`
const APPLIED = 'appliedAt: 2026-03-01T09:00:00Z, '

describe('when rules were applied', () => {
  it('is what `for` counts from in every pod, also in one that begins later', () => {
    const first = new Pod(file(APPLIED), AT + 1_000)
    expect([first.isHit(AT + 19_000), first.isHit(AT + 20_000)]).toEqual([true, false])
    const scaledUp = new Pod(file(APPLIED), AT + 60 * MINUTE)
    expect(scaledUp.isHit(AT + 60 * MINUTE)).toBe(false)
    expect(scaledUp.unanchored).toEqual([])
  })

  it('is not known of other rules: they count from the start of the pod, which is reported', () => {
    const pod = new Pod(file(''), AT + 60 * MINUTE)
    expect(pod.isHit(AT + 60 * MINUTE)).toBe(true)
    expect(pod.unanchored).toEqual(['a'])
    expect(new Pod(file('', 'for: 20s, repeat: 1m'), AT).unanchored).toEqual(['a'])
    expect(new Pod(file('', 'percent: 100'), AT).unanchored).toEqual([])
    expect(new Pod(file('', 'percent: 100'), AT, { maxDuration: 1 }).unanchored).toEqual(['a'])
  })

  it('is what --max-duration counts from', () => {
    const pod = new Pod(file(APPLIED, 'percent: 100'), AT + MINUTE, { maxDuration: 5 * MINUTE })
    expect([pod.isHit(AT + 4 * MINUTE), pod.isHit(AT + 5 * MINUTE)]).toEqual([true, false])
  })

  it('is what a ramp counts from', () => {
    const text = file(APPLIED, 'ramp: { to: 100%, over: 10m }')
    expect(new Pod(text, AT + 10 * MINUTE).isHit(AT + 10 * MINUTE)).toBe(true)
  })

  it('may differ for a rule of the file', () => {
    const text = file(APPLIED, 'appliedAt: 2026-03-01T08:00:00Z, for: 30m')
    expect(new Pod(text, AT).isHit(AT)).toBe(false)
  })

  it('starts a rule anew when it is another time, and not when it becomes known', () => {
    const pod = new Pod(file(''), AT)
    pod.isHit(AT)
    pod.take(file(APPLIED), AT + 1_000)
    expect(pod.states.totals.all()[0]!.counts.sampled).toBe(1)
    expect(pod.isHit(AT + 20_000)).toBe(false)
    pod.take(file('appliedAt: 2026-03-01T09:10:00Z, '), AT + 10 * MINUTE)
    expect(pod.isHit(AT + 10 * MINUTE + 19_000)).toBe(true)
    expect(pod.isHit(AT + 10 * MINUTE + 20_000)).toBe(false)
  })

  it('counts as now up to an hour ahead of the clock, and is awaited further ahead', () => {
    const slow = new Pod(file(APPLIED), AT - 4 * MINUTE)
    expect(slow.isHit(AT - 4 * MINUTE)).toBe(true)
    expect(slow.isHit(AT - 4 * MINUTE + 20_000)).toBe(false)
    const behind = new Pod(file(APPLIED), AT - 60 * MINUTE)
    expect(behind.isHit(AT - 60 * MINUTE)).toBe(true)
    const wrong = new Pod(file(APPLIED), AT - 61 * MINUTE)
    expect([wrong.isHit(AT - 61 * MINUTE), wrong.isHit(AT)]).toEqual([false, true])
  })

  it('may go with an end for all rules of the file, and the earlier one counts', () => {
    const text = file(`${APPLIED}until: 2026-03-01T09:30:00Z, `, 'percent: 100')
    const pod = new Pod(text, AT)
    expect([pod.isHit(AT + 29 * MINUTE), pod.isHit(AT + 30 * MINUTE)]).toEqual([true, false])
    const own = file('until: 2026-03-01T09:30:00Z, ', 'until: 2026-03-01T09:10:00Z')
    expect(new Pod(own, AT).isHit(AT + 10 * MINUTE)).toBe(false)
  })
})

describe('the clock of the rules', () => {
  it('never goes back, continues when it is set back, and follows when it is set forward', () => {
    let wall = 1_000
    let passed = 0
    const clock = steadyClock(
      () => wall,
      () => passed,
    )
    const at = (nextWall: number, nextPassed: number): number => {
      wall = nextWall
      passed = nextPassed
      return clock()
    }
    expect(at(1_010, 10)).toBe(1_010)
    // Set back by an hour: the time that has passed counts.
    expect(at(1_020 - 3_600_000, 20)).toBe(1_020)
    expect(at(1_040 - 3_600_000, 40)).toBe(1_040)
    // Set right again, and then forward.
    expect(at(1_050, 50)).toBe(1_050)
    expect(at(9_060, 60)).toBe(9_060)
    expect(at(1_070, 70)).toBe(9_070)
  })
})
