import type { History } from '#admin-api'
import { trafficIn } from './traffic.ts'

/**
 * The behaviour of a tool over a time, without what faults ended. Latencies are in seconds; null is
 * for what is not known.
 */
export interface Baseline {
  readonly tool: string
  readonly calls: number
  readonly errors: number
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
  /** The mean size of a result. */
  readonly bytes: number | null
}

/** The time that a sidecar remembers. */
const HISTORY_SECONDS = 900

/** Returns the behaviour of the tools in the last minutes of a sidecar. */
export function baselinesOf(history: History): readonly Baseline[] {
  return trafficIn(history, HISTORY_SECONDS).traffic.flatMap((each) => {
    const calls = each.calls - each.injectedErrors
    if (!each.tool || calls <= 0) return []
    const { tool, realErrors: errors, upstreamP50: p50, upstreamP95: p95 } = each
    return [{ tool, calls, errors, p50, p95, p99: null, bytes: null }]
  })
}
