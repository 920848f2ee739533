import { LoadError } from '../load/load-error.ts'
import type { Timeline, TimePoint } from '../load/results/result.ts'
import { Histogram } from '../load/results/histogram.ts'
import { parseSlo } from '../load/results/slo.ts'
import type { Batch } from './sequential-test.ts'

/** The condition under which a magnitude fails, counted call by call. */
export interface Condition {
  /** The text as written. */
  readonly text: string
  /** The share of failed calls above which the condition is true. */
  readonly limit: number
  /** The gate of a plan that fails under the condition, and its limit in percent or milliseconds. */
  readonly gate: readonly [name: string, limit: number]
  readonly batchOf: (point: TimePoint) => Batch
}

const FIX = 'write "success<99%", "errors>5%" or "p95>2s": what makes a magnitude fail'

/** Parses `success<99%`, `errors>5%` or `p99>2s`. Throws a `LoadError`. */
export function parseCondition(text: string): Condition {
  const { metric, operator, limit, text: shown } = parseSlo(text)
  const name = /^[a-z0-9.]+/i.exec(shown)![0].toLowerCase()
  const direction = operator.charAt(0)
  if (metric.rank !== undefined) {
    if (direction !== '>') throw invalid(text, 'is not a failure')
    const beyond = 1 - metric.rank
    return {
      text: shown,
      limit: checked(beyond, text),
      gate: [name, limit],
      batchOf: slower(limit),
    }
  }
  const percent = Number((limit * 100).toPrecision(12))
  if (name === 'success') {
    if (direction !== '<') throw invalid(text, 'is not a failure')
    const failed = ({ calls, ok }: TimePoint): number => calls - ok
    return {
      text: shown,
      limit: checked(1 - limit, text),
      gate: [name, percent],
      batchOf: (point) => ({ calls: point.calls, failed: failed(point) }),
    }
  }
  if (name !== 'errors') throw invalid(text, 'cannot be counted call by call')
  if (direction !== '>') throw invalid(text, 'is not a failure')
  return {
    text: shown,
    limit: checked(limit, text),
    gate: [name, percent],
    batchOf: ({ calls, errors }) => ({
      calls,
      failed: Object.values(errors).reduce((total, each) => total + each, 0),
    }),
  }
}

/** Returns the counts of each second. */
export function batchesOf({ points }: Timeline, { batchOf }: Condition): readonly Batch[] {
  return points.map(batchOf).filter(({ calls }) => calls > 0)
}

function slower(ms: number): Condition['batchOf'] {
  return ({ histogram }) => {
    const latency = Histogram.from(histogram)
    return { calls: latency.count, failed: latency.count - latency.countUpTo(ms) }
  }
}

/** Returns a share that a test can decide on. */
function checked(share: number, text: string): number {
  if (share >= 0.0001 && share <= 0.9999) return Number(share.toPrecision(12))
  throw invalid(text, 'is decided by a single call')
}

function invalid(text: string, why: string): LoadError {
  return new LoadError('INVALID_INPUT', `the condition "${text.slice(0, 60)}" ${why}`, FIX)
}
