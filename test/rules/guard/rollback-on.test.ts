import { describe, expect, it } from 'vitest'
import type { Origin, Outcome } from '../../../src/mcp/call.ts'
import { Arming } from '../../../src/rules/guard/arming.ts'
import {
  parseRollbackCondition,
  type RollbackCondition,
} from '../../../src/rules/guard/rollback-condition.ts'
import { RollbackOn } from '../../../src/rules/guard/rollback-on.ts'
import { Bench } from '../facts.ts'

interface Traffic {
  /** Calls a second. */
  readonly rate?: number
  /** Every so-many-th call is the other one. */
  readonly every?: number
  readonly outcome?: Outcome
  readonly origin?: Origin
  readonly upstreamSeconds?: number
}

/** Conditions over one rule, and a clock that the test moves. */
class Post {
  now = 1_000_000
  isActive = true
  readonly arming = new Arming(new Bench([{ name: 'a' }]).states, () => this.now)
  readonly trips: string[] = []
  readonly unchecked: string[] = []
  readonly conditions: RollbackOn

  constructor(...texts: readonly string[]) {
    const conditions = texts.map((text) => parseRollbackCondition(text) as RollbackCondition)
    this.conditions = new RollbackOn(conditions, this.arming, {
      onRollback: (figure, reason) => this.trips.push(`${figure}: ${reason}`),
      onUnchecked: (condition) => this.unchecked.push(condition),
    })
  }

  /** Lets time pass with traffic; returns after how many milliseconds the rules were disarmed. */
  pass(ms: number, { rate = 10, every = 1, ...other }: Traffic = {}): number | undefined {
    const trips = this.trips.length
    const begin = this.now
    let calls = 0
    let checkAt = this.now
    for (; this.now < begin + ms; this.now += 10) {
      for (; calls < ((this.now - begin) / 1000) * rate; calls++) {
        const isOther = calls % every === every - 1
        const good = { outcome: 'ok', origin: 'real', upstreamSeconds: 0.01 } as const
        this.conditions.record(isOther ? { ...good, ...other } : good, this.now)
      }
      if (this.now < checkAt) continue
      checkAt += this.conditions.interval
      this.conditions.check(this.isActive && this.arming.armed, this.now)
      if (this.trips.length > trips) return this.now - begin
    }
    return undefined
  }
}

const FAILING = { outcome: 'http_error' } as const
const SLOW = { upstreamSeconds: 2 } as const

describe('real errors', () => {
  it('disarm when they have been above the limit for the time, and not before', () => {
    const post = new Post('real-errors>1% for 30s')
    expect(post.pass(120_000)).toBeUndefined()
    const after = post.pass(60_000, { ...FAILING, every: 20 })
    expect(after).toBeGreaterThanOrEqual(30_000)
    expect(after).toBeLessThan(35_000)
    expect(post.arming.reasons).toEqual([
      {
        by: 'rollback-on',
        reason: expect.stringMatching(
          /^real-errors>1% for 30s: \d+ of 1\d\d calls had real errors within 15s$/,
        ),
        at: post.now,
      },
    ])
    expect(post.trips).toEqual([`real_errors: ${post.arming.reasons[0]!.reason}`])
  })

  it('do not disarm for a disturbance that is shorter, even if every call fails', () => {
    const post = new Post('real-errors>1% for 30s')
    for (let times = 0; times < 5; times++) {
      expect(post.pass(10_000, FAILING)).toBeUndefined()
      expect(post.pass(30_000)).toBeUndefined()
    }
    expect(post.arming.armed).toBe(true)
  })

  it('do not disarm at the limit', () => {
    const post = new Post('real-errors>50% for 1s')
    expect(post.pass(20_000, { ...FAILING, every: 2 })).toBeUndefined()
  })

  it('are neither injected ones nor cancelled calls', () => {
    const post = new Post('real-errors>0% for 1s')
    expect(post.pass(20_000, { ...FAILING, origin: 'injected' })).toBeUndefined()
    expect(post.pass(20_000, { outcome: 'cancelled' })).toBeUndefined()
    expect(post.pass(20_000, { ...FAILING, origin: 'squall' })).toBeGreaterThanOrEqual(1000)
  })

  it('are no share where no call ends', () => {
    const post = new Post('real-errors>1% for 10s')
    expect(post.pass(4000, FAILING)).toBeUndefined()
    expect(post.pass(60_000, { rate: 0 })).toBeUndefined()
  })
})

describe('the latency of the upstream', () => {
  it.each([
    ['upstream-p99>800ms for 30s', 50],
    ['upstream-p95>800ms for 30s', 10],
    ['upstream-p50>800ms for 30s', 1],
  ])('disarms by %s when one in %d is slow', (condition, every) => {
    const post = new Post(condition)
    post.pass(60_000)
    const after = post.pass(60_000, { ...SLOW, every })
    expect(after).toBeGreaterThanOrEqual(30_000)
    expect(after).toBeLessThan(45_000)
    expect(post.trips[0]).toMatch(
      /^upstream_latency: upstream-p\d\d>800ms for 30s: the upstream took longer than 800ms for \d+ of 1\d\d calls within 15s$/,
    )
  })

  it.each([
    ['upstream-p99>800ms for 3s', 120],
    ['upstream-p95>800ms for 3s', 25],
    ['upstream-p50>800ms for 3s', 2],
    ['upstream-p50>2s for 3s', 1],
  ])('does not disarm by %s when one in %d takes 2 s', (condition, every) => {
    const post = new Post(condition)
    expect(post.pass(30_000, { ...SLOW, every, rate: 1000 })).toBeUndefined()
  })

  it('is not that of calls which the upstream did not get', () => {
    const post = new Post('upstream-p50>1ms for 1s')
    const conditions = post.conditions
    for (let at = 0; at < 100; at++) {
      post.now += 100
      conditions.record(
        { outcome: 'http_error', origin: 'squall', upstreamSeconds: undefined },
        post.now,
      )
      conditions.check(true, post.now)
    }
    expect(post.trips).toEqual([])
  })
})

describe('the rate of calls', () => {
  const learned = (): Post => {
    const post = new Post('calls>3x for 10s')
    post.isActive = false
    post.pass(120_000)
    post.isActive = true
    return post
  }

  it('disarms when it has been a multiple of the rate before the rules for the time', () => {
    const post = learned()
    expect(post.pass(60_000, { rate: 28 })).toBeUndefined()
    const after = post.pass(60_000, { rate: 60 })
    expect(after).toBeGreaterThanOrEqual(10_000)
    expect(after).toBeLessThan(16_000)
    expect(post.trips[0]).toMatch(
      /^call_rate: calls>3x for 10s: \d+ calls within 5s, (4[5-9]|50) before the rules$/,
    )
  })

  it('counts calls of every outcome and origin', () => {
    const post = learned()
    const storm = { rate: 60, outcome: 'http_error', origin: 'injected' } as const
    expect(post.pass(60_000, storm)).toBeGreaterThanOrEqual(10_000)
  })

  it('does not disarm for a burst that is shorter', () => {
    const post = learned()
    for (let times = 0; times < 5; times++) {
      expect(post.pass(3000, { rate: 500 })).toBeUndefined()
      expect(post.pass(15_000)).toBeUndefined()
    }
  })

  it('is compared with the median, which one burst before the rules does not raise', () => {
    const post = new Post('calls>3x for 10s')
    post.isActive = false
    post.pass(60_000)
    post.pass(20_000, { rate: 1000 })
    post.pass(30_000)
    post.isActive = true
    expect(post.pass(60_000, { rate: 60 })).toBeGreaterThanOrEqual(10_000)
  })

  it('does not become usual while a rule is active, and does while none is', () => {
    const post = learned()
    post.pass(600_000, { rate: 28 })
    expect(post.pass(60_000, { rate: 45 })).toBeGreaterThanOrEqual(10_000)
    // Disarmed, for longer than what is remembered.
    expect(post.pass(400_000, { rate: 45 })).toBeUndefined()
    post.arming.lift('rollback-on')
    expect(post.pass(60_000, { rate: 45 })).toBeUndefined()
  })

  it.each([
    ['too short a time', 20_000, 10],
    ['no calls', 120_000, 0],
  ])('is not checked after %s before the rules, which is reported once', (_, ms, rate) => {
    const post = new Post('calls>3x for 10s')
    post.isActive = false
    post.pass(ms, { rate })
    post.isActive = true
    expect(post.pass(60_000, { rate: 500 })).toBeUndefined()
    expect(post.unchecked).toEqual(['calls>3x for 10s'])
  })
})

describe('an upstream that is not ready', () => {
  const state = (accepts: boolean, name = 'http://app') => [{ name, accepts }]

  it('disarms after the time', () => {
    const post = new Post('not-ready for 10s')
    post.conditions.upstreams(state(true))
    expect(post.pass(30_000)).toBeUndefined()
    post.conditions.upstreams(state(false))
    expect(post.pass(30_000)).toBe(10_000)
    expect(post.trips).toEqual([
      'not_ready: not-ready for 10s: http://app does not accept connections',
    ])
  })

  it('does not disarm when it comes back within the time, or has not started yet', () => {
    const post = new Post('not-ready for 10s')
    post.conditions.upstreams(state(false))
    expect(post.pass(60_000)).toBeUndefined()
    for (let times = 0; times < 5; times++) {
      post.conditions.upstreams(state(true))
      post.pass(1000)
      post.conditions.upstreams(state(false))
      expect(post.pass(9000)).toBeUndefined()
    }
  })

  it('is any one of several that had started', () => {
    const post = new Post('not-ready for 10s')
    const both = (one: boolean, other: boolean) => [...state(one, 'one'), ...state(other, 'other')]
    post.conditions.upstreams(both(true, false))
    expect(post.pass(30_000)).toBeUndefined()
    post.conditions.upstreams(both(false, true))
    expect(post.pass(30_000)).toBe(10_000)
  })
})

describe('a condition', () => {
  it('disarms only while a rule is active, and at once when one becomes active meanwhile', () => {
    const post = new Post('real-errors>1% for 30s')
    post.isActive = false
    expect(post.pass(120_000, FAILING)).toBeUndefined()
    post.isActive = true
    expect(post.pass(120_000, FAILING)).toBe(0)
  })

  it('does not begin its time anew when rules are switched off and on', () => {
    const post = new Post('real-errors>1% for 30s')
    let passed = 0
    let after: number | undefined
    while (after === undefined && passed < 60_000) {
      post.isActive = !post.isActive
      after = post.pass(2000, FAILING)
      passed += 2000
    }
    expect(passed).toBeLessThanOrEqual(36_000)
    expect(post.trips).toHaveLength(1)
  })

  it('stays while it holds: arming disarms again at once, and later does not', () => {
    const post = new Post('real-errors>1% for 30s')
    post.pass(60_000, FAILING)
    expect(post.pass(60_000, FAILING)).toBeUndefined()
    post.arming.lift('rollback-on')
    expect(post.pass(60_000, FAILING)).toBeLessThanOrEqual(1000)
    post.pass(60_000)
    post.arming.lift('rollback-on')
    expect(post.pass(60_000)).toBeUndefined()
    expect(post.arming.armed).toBe(true)
  })

  it('disarms once where several hold, and leaves the say of others alone', () => {
    const post = new Post('real-errors>1% for 1s', 'upstream-p50>1s for 1s')
    post.arming.disarm('operator', 'not now')
    expect(post.pass(10_000, { ...FAILING, ...SLOW })).toBeUndefined()
    post.arming.lift('operator')
    expect(post.pass(10_000, { ...FAILING, ...SLOW })).toBe(0)
    expect(post.trips).toHaveLength(1)
  })

  it('is checked ten times within its time, and at least once a second', () => {
    expect(new Post('not-ready for 300ms', 'calls>3x for 10s').conditions.interval).toBe(30)
    expect(new Post('real-errors>1% for 1h').conditions.interval).toBe(1000)
  })
})
