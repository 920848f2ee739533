import { durationText } from '../../base/units.ts'
import type { Origin, Outcome } from '../../mcp/call.ts'
import type { Arming } from './arming.ts'
import { isJudged } from './guard.ts'
import type { RollbackCondition, RollbackTest } from './rollback-condition.ts'
import { UsualCalls } from './usual-calls.ts'
import { WindowCounts } from './window-counts.ts'

/** A call that has ended. */
interface EndedCall {
  readonly outcome: Outcome
  readonly origin: Origin
  readonly upstreamSeconds: number | undefined
}

/** An upstream, whether it accepts connections now, and why not. */
export interface UpstreamState {
  readonly name: string
  readonly accepts: boolean
  readonly trouble?: string | undefined
}

/** Receives the events of the conditions. */
export interface RollbackHost {
  /** A condition has disarmed all rules. */
  readonly onRollback?: (figure: RollbackTest['figure'], reason: string) => void
  /** A rule has become active, and this condition cannot be checked. */
  readonly onUnchecked?: (condition: string) => void
}

interface Watched extends RollbackCondition {
  readonly window: number
  readonly counts: WindowCounts
  readonly usual: UsualCalls
  /** Since when the condition holds; undefined while it does not. */
  since: number | undefined
}

const BUCKETS = 10
const MAX_INTERVAL = 1000

/**
 * Disarms all rules when a condition of `--rollback-on` has held for its time while a rule is
 * active. Reloads of the rules do not end it. Conditions are measured whether or not a rule is
 * active, so that rules which are switched off and on again do not begin the time anew. Times are
 * in milliseconds since any moment.
 */
export class RollbackOn {
  /** The milliseconds between two checks. */
  readonly interval: number
  /** True when `upstreams` must be called between checks. */
  readonly needsUpstreams: boolean
  readonly #watched: readonly Watched[]
  readonly #arming: Arming
  readonly #host: RollbackHost
  /** The upstreams that have accepted connections once: one that starts is not ready yet. */
  readonly #started = new Set<string>()
  #gone: string | undefined
  #wasActive = false

  constructor(conditions: readonly RollbackCondition[], arming: Arming, host: RollbackHost = {}) {
    this.#arming = arming
    this.#host = host
    this.#watched = conditions.map((condition) => {
      // Within half of the time, a shorter disturbance never holds for the whole.
      const window = condition.lasting / 2
      const counts = new WindowCounts(window, BUCKETS)
      return { ...condition, window, counts, usual: new UsualCalls(window), since: undefined }
    })
    const shortest = Math.min(...conditions.map(({ lasting }) => lasting))
    this.interval = Math.min(MAX_INTERVAL, shortest / BUCKETS)
    this.needsUpstreams = conditions.some(({ test }) => test.figure === 'not_ready')
  }

  /** Counts a call that has ended. */
  record({ outcome, origin, upstreamSeconds }: EndedCall, now: number): void {
    for (const { test, counts } of this.#watched) {
      if (test.figure === 'call_rate') counts.add(false, now)
      else if (test.figure === 'real_errors') {
        if (isJudged(outcome, origin)) counts.add(outcome !== 'ok', now)
      } else if (test.figure === 'upstream_latency' && upstreamSeconds !== undefined) {
        counts.add(upstreamSeconds * 1000 > test.ms, now)
      }
    }
  }

  /** Takes the state of every upstream. */
  upstreams(states: readonly UpstreamState[]): void {
    for (const { name, accepts } of states) if (accepts) this.#started.add(name)
    this.#gone = states.find(({ name, accepts }) => !accepts && this.#started.has(name))?.name
  }

  /** Disarms all rules when a condition has held for its time and a rule is active. */
  check(isActive: boolean, now: number): void {
    for (const each of this.#watched) {
      each.counts.advance(now)
      if (each.test.figure === 'call_rate') this.#learn(each, isActive, now)
      const why = this.#why(each)
      if (why === undefined) each.since = undefined
      else if (now - (each.since ??= now) >= each.lasting && isActive && this.#arming.armed) {
        const reason = `${each.text}: ${why}`
        this.#arming.disarm('rollback-on', reason)
        this.#host.onRollback?.(each.test.figure, reason)
      }
    }
    this.#wasActive = isActive
  }

  #learn({ usual, counts, text }: Watched, isActive: boolean, now: number): void {
    usual.see(counts.calls, isActive, now)
    if (isActive && !this.#wasActive && usual.calls === undefined) this.#host.onUnchecked?.(text)
  }

  /** Returns why the condition holds now; undefined when it does not. */
  #why({ test, window, counts, usual }: Watched): string | undefined {
    const { calls, counted } = counts
    const within = `within ${durationText(window)}`
    switch (test.figure) {
      case 'real_errors':
        if (!(counted * 100 > test.percent * calls)) return undefined
        return `${counted} of ${calls} calls had real errors ${within}`
      case 'upstream_latency':
        if (!(counted * 100 > test.percent * calls)) return undefined
        return `the upstream took longer than ${durationText(test.ms)} for ${counted} of ${calls} calls ${within}`
      case 'call_rate':
        if (usual.calls === undefined || calls <= test.factor * usual.calls) return undefined
        return `${calls} calls ${within}, ${usual.calls} before the rules`
      case 'not_ready':
        return this.#gone && `${this.#gone} does not accept connections`
      default:
        return test satisfies never
    }
  }
}
