import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Origin, Outcome } from '../../../src/mcp/call.ts'
import { Arming } from '../../../src/rules/guard/arming.ts'
import { Guard, type GuardConfig } from '../../../src/rules/guard/guard.ts'
import { createGuardedRules } from '../../../src/rules/guard/guarded-rules.ts'
import { Bench } from '../facts.ts'
import { accepted } from '../rules-text.ts'

const CONFIG: GuardConfig = { errorPercent: 5, window: 30_000, minCalls: 10 }

/** A guard over one rule, and a clock that the test moves. */
class Post {
  now = 1_700_000_000_000
  readonly bench = new Bench([{ name: 'a' }])
  readonly arming = new Arming(this.bench.states, () => this.now)
  readonly trips: string[] = []
  readonly guard: Guard

  constructor(config: Partial<GuardConfig> = {}) {
    this.guard = new Guard({ ...CONFIG, ...config }, this.arming, (why) => this.trips.push(why))
  }

  see(outcome: Outcome, times = 1, origin: Origin = 'real'): void {
    for (let i = 0; i < times; i++) this.guard.record(outcome, origin, this.now)
  }

  get figures() {
    return this.guard.figures(this.now)
  }
}

describe('the guard', () => {
  it('disarms every rule when real errors pass the rate, wakes what waits, and says why', () => {
    const post = new Post()
    const { retired } = post.bench.plan()!.matched[0]!.state.faults
    post.see('ok', 19)
    post.see('http_error')
    expect(post.arming.armed).toBe(true)
    post.see('http_error')
    expect(post.arming.reasons).toEqual([
      {
        by: 'guard',
        reason: '2 of 21 calls had real errors within 30s: 9.5% is more than 5%',
        at: post.now,
      },
    ])
    expect(post.trips).toEqual([post.arming.reasons[0]!.reason])
    expect(retired.aborted).toBe(true)
    expect(post.bench.matched()).toEqual([])
  })

  it.each([
    'tool_error',
    'rpc_error',
    'http_error',
    'reset',
    'timeout',
    'incomplete',
    'abandoned',
  ] as const)('takes %s for an error', (outcome) => {
    const post = new Post()
    post.see(outcome, 10)
    expect(post.trips).toHaveLength(1)
  })

  it('takes a call that Squall answered because the upstream did not for an error', () => {
    const post = new Post()
    post.see('http_error', 10, 'squall')
    expect(post.trips).toHaveLength(1)
  })

  it('never counts what a fault did, neither as an error nor as a call beside errors', () => {
    const post = new Post()
    post.see('http_error', 1000, 'injected')
    expect(post.figures).toEqual({ calls: 0, errors: 0 })
    post.see('ok', 1000, 'injected')
    post.see('ok', 9)
    post.see('reset', 1)
    expect(post.trips).toHaveLength(1)
  })

  it('does not count a call that its client cancelled', () => {
    const post = new Post()
    post.see('cancelled', 100)
    expect(post.figures).toEqual({ calls: 0, errors: 0 })
  })

  it('needs a least number of calls, and judges by any call once there are', () => {
    const post = new Post()
    post.see('http_error', 9)
    expect(post.trips).toEqual([])
    post.see('ok')
    expect(post.trips).toHaveLength(1)
  })

  it('does not trip at the rate, only beyond it, and at any error when the rate is 0', () => {
    const post = new Post({ errorPercent: 50 })
    for (let i = 0; i < 100; i++) {
      post.see('ok')
      post.see('http_error')
    }
    expect(post.trips).toEqual([])
    const strict = new Post({ errorPercent: 0, minCalls: 1 })
    strict.see('ok', 1000)
    strict.see('tool_error')
    expect(strict.trips).toHaveLength(1)
  })

  it('forgets what is older than its window', () => {
    const post = new Post()
    post.see('http_error', 9)
    post.now += 31_000
    post.see('ok')
    expect(post.figures).toEqual({ calls: 1, errors: 0 })
    expect(post.trips).toEqual([])
    for (let i = 0; i < 600; i++) {
      post.now += 500
      post.see(i % 30 === 29 ? 'reset' : 'ok')
    }
    expect(post.trips).toEqual([])
    expect(post.figures.calls).toBeGreaterThanOrEqual(58)
    expect(post.figures.calls).toBeLessThanOrEqual(60)
  })

  it('counts within its window what a plain list counts, to the width of a bucket', () => {
    const step = fc.record({ wait: fc.nat(4000), fails: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const post = new Post({ minCalls: 1_000_000 })
        const seen: { at: number; fails: boolean }[] = []
        for (const { wait, fails } of steps) {
          post.now += wait
          post.see(fails ? 'reset' : 'ok')
          seen.push({ at: post.now, fails })
          const within = (ms: number) => seen.filter(({ at }) => at > post.now - ms)
          const { calls, errors } = post.figures
          expect(calls).toBeLessThanOrEqual(within(30_000).length)
          expect(calls).toBeGreaterThanOrEqual(within(29_000).length)
          expect(errors).toBeLessThanOrEqual(within(30_000).filter(({ fails: f }) => f).length)
          expect(errors).toBeGreaterThanOrEqual(within(29_000).filter(({ fails: f }) => f).length)
        }
      }),
    )
  })

  it('survives a clock that is put back or jumps', () => {
    const post = new Post()
    post.see('ok', 5)
    post.now -= 500
    post.see('ok', 5)
    expect(post.figures.calls).toBe(10)
    post.now -= 86_400_000
    post.see('reset')
    expect(post.figures).toEqual({ calls: 1, errors: 1 })
    post.now += 100 * 86_400_000
    expect(post.figures).toEqual({ calls: 0, errors: 0 })
  })
})

describe('after it has tripped', () => {
  const tripped = (): Post => {
    const post = new Post()
    post.see('http_error', 10)
    return post
  }

  it('stays tripped through good times and bad, and says so once', () => {
    const post = tripped()
    for (let i = 0; i < 100; i++) {
      post.now += 10_000
      post.see(i < 50 ? 'http_error' : 'ok', 20)
    }
    expect(post.trips).toHaveLength(1)
    expect(post.arming.has('guard')).toBe(true)
  })

  it('begins with an empty window once somebody arms again, and trips anew', () => {
    const post = tripped()
    post.see('http_error', 500)
    post.arming.lift('guard')
    post.see('http_error', 9)
    expect(post.arming.armed).toBe(true)
    expect(post.figures).toEqual({ calls: 9, errors: 9 })
    post.see('http_error')
    expect(post.trips).toHaveLength(2)
    expect(post.arming.has('guard')).toBe(true)
  })

  it('is cleared when faults are armed again', () => {
    const post = tripped()
    post.arming.lift('guard')
    post.guard.reset()
    expect(post.figures).toEqual({ calls: 0, errors: 0 })
    post.see('ok', 20)
    expect(post.arming.armed).toBe(true)
  })

  it('leaves the say of others alone, and watches while they have it', () => {
    const post = new Post()
    post.arming.disarm('operator', 'not now')
    post.see('http_error', 50)
    expect(post.trips).toEqual([])
    expect(post.arming.reasons.map(({ by }) => by)).toEqual(['operator'])
    post.arming.lift('operator')
    post.see('ok')
    expect(post.trips).toHaveLength(1)
  })
})

describe('rules that are guarded', () => {
  const version = (digest: string) => ({
    kind: 'rules' as const,
    digest,
    file: accepted('rules: [{ name: a, faults: [{ abort: { status: 503 } }] }]'),
  })
  const options = {
    limits: {},
    pod: undefined,
    self: {},
    neverArmed: undefined,
    guard: CONFIG,
    rollbackOn: [],
    headerFaults: undefined,
  }

  it('are armed again by rules that changed, and by no others', () => {
    const told: string[][] = []
    const { arming, guard, isActive } = createGuardedRules(options, {
      clock: () => 0,
      onArming: (reasons) => told.push(reasons.map(({ by }) => by)),
    })
    isActive.take(version('one'))
    for (let i = 0; i < 10; i++) guard!.record('reset', 'real', 0)
    expect(arming.has('guard')).toBe(true)
    isActive.take(version('one'))
    isActive.take({ kind: 'rejected', digest: 'bad', problems: [] })
    expect(arming.has('guard')).toBe(true)
    isActive.take(version('two'))
    expect(arming.armed).toBe(true)
    expect(told).toEqual([['guard'], []])
  })

  it('are never armed where the environment says so, whatever the rules and the guard say', () => {
    const { arming, guard, isActive, states } = createGuardedRules(
      { ...options, neverArmed: 'the environment is production' },
      { clock: () => 0 },
    )
    for (const digest of ['one', 'two']) {
      isActive.take(version(digest))
      for (let i = 0; i < 10; i++) guard!.record('reset', 'real', 0)
      arming.lift('guard')
      arming.lift('operator')
      expect(states.disarmed).toBe('the environment is production')
    }
  })
})
