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
  const percent = Number((limit * 100).toPrecision(12))
  const known = ((): readonly [sign: string, share: number, number, Condition['batchOf']] => {
    if (metric.rank !== undefined) return ['>', 1 - metric.rank, limit, slower(limit)]
    if (name === 'success') return ['<', 1 - limit, percent, unsuccessful]
    if (name === 'errors') return ['>', limit, percent, erroneous]
    throw invalid(text, 'uses a metric that is not counted per call')
  })()
  const [sign, share, written, batchOf] = known
  if (!operator.startsWith(sign)) throw invalid(text, 'does not describe a failure')
  return { text: shown, limit: checked(share, text), gate: [name, written], batchOf }
}

const unsuccessful = ({ calls, ok }: TimePoint): Batch => ({ calls, failed: calls - ok })

const erroneous = ({ calls, errors }: TimePoint): Batch => {
  return { calls, failed: Object.values(errors).reduce((total, each) => total + each, 0) }
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
  throw invalid(text, 'must set a limit from 0.01% to 99.99% of calls')
}

function invalid(text: string, why: string): LoadError {
  return new LoadError('INVALID_INPUT', `the condition "${text.slice(0, 60)}" ${why}`, FIX)
}
