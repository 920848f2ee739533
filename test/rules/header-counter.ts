import { expect } from 'vitest'
import {
  HeaderFaults,
  MAX_ASKED_DELAY_MS,
  withHeaderFaults,
} from '../../src/rules/select/header-faults.ts'
import type { Plan } from '../../src/rules/select/plan.ts'
import type { RuleLimits } from '../../src/rules/guard/rule-limits.ts'
import { Bench, facts, type LooseRule } from './facts.ts'

/** Header lines by name. */
export type Headers = Readonly<Record<string, string>>

/** A bench on which callers may request faults. */
export class Counter {
  readonly bench: Bench
  readonly faults: HeaderFaults

  constructor(limits: RuleLimits = {}, maxPercent = 100, rules: readonly LooseRule[] = []) {
    this.bench = new Bench(rules, {}, limits, limits)
    this.faults = new HeaderFaults({ maxPercent }, limits, this.bench.states, this.bench.now)
  }

  /** The plan of a call with these headers. */
  plan(headers: Headers, call: Parameters<typeof facts>[0] = {}): Plan | undefined {
    const of = facts(call, { headers: Object.entries(headers).flat() })
    const hit = this.faults.plan(this.bench.ruleSet, of, () => this.bench.now)
    return withHeaderFaults(this.bench.plan(of), hit)
  }

  /** Returns the effect on a call with these headers. */
  uses(headers: Headers): unknown[] {
    const hit = this.plan(headers)?.matched[0]
    expect(hit?.rule.faults.length).toBe(hit?.rule.uses.length)
    return (hit?.rule.uses ?? []).map(({ fault, config }) => ({ fault, ...config }))
  }

  get counts() {
    return this.faults.state.counts
  }
}

/** A delay as a rule would have it. */
export const delay = (fixed: number, max = MAX_ASKED_DELAY_MS) => ({
  fault: 'delay',
  fixed,
  max,
  at: 'request',
})
/** An abort as a rule would have it. */
export const abort = (status: number) => ({ fault: 'abort', status, at: 'request' })
