import type { CallResponse } from '../clients/load-client.ts'
import { Histogram } from './histogram.ts'
import { ErrorCounts } from './error-counts.ts'
import { CHECKS, type Origin, TOOL_COUNTS, type ToolResult } from './result.ts'

export interface ResponseChecks {
  /** The response is not an error. */
  readonly responded: boolean
  readonly schemaOk: boolean
  readonly usable: boolean
}

/** The outcome of a call including its retries. */
export interface CallOutcome extends ResponseChecks {
  readonly response: CallResponse
  readonly origin: Origin
  /** An attempt carried the marker of a fault. */
  readonly injected: boolean
  readonly correct: boolean
  readonly inTime: boolean
  readonly success: boolean
  readonly latencyMs: number
}

/** The end of a call: its outcome, or none because it was not sent, or was cut with the run. */
export type CallEnd = CallOutcome | 'skipped' | 'abandoned'

/** The number of last calls whose median latency is expected of the next. */
const WINDOW = 10

/** Counts the outcomes of the calls of one tool. */
export class ToolRecorder {
  readonly #tool: string
  readonly #errors = new ErrorCounts()
  readonly #lastMs: number[] = []
  readonly latency = new Histogram()
  readonly counts = Object.fromEntries(TOOL_COUNTS.map((name) => [name, 0])) as Record<
    (typeof TOOL_COUNTS)[number],
    number
  >
  /** Calls that were cut before their end. */
  abandoned = 0
  /** The time in flight of each call that was cut. */
  readonly cutMs: number[] = []
  /** The time for which such calls waited as the server asked. */
  askedMs = 0

  constructor(tool: string) {
    this.#tool = tool
  }

  /** The median latency of the last calls; undefined before the first calls. */
  get medianMs(): number | undefined {
    if (this.#lastMs.length < WINDOW) return undefined
    return this.#lastMs.toSorted((a, b) => a - b)[WINDOW / 2 - 1]
  }

  add(outcome: CallOutcome): void {
    const { response, origin, latencyMs } = outcome
    this.counts.calls++
    this.counts.ok += Number(outcome.success)
    for (const check of CHECKS) this.counts[check] += Number(outcome[check])
    if (response.kind !== 'ok') this.#errors.addOf(response, response.kind, origin)
    this.latency.add(latencyMs)
    this.#lastMs.push(latencyMs)
    if (this.#lastMs.length > WINDOW) this.#lastMs.shift()
  }

  /** Adds the results of the same tool from another run. */
  merge(other: ToolResult): void {
    for (const name of TOOL_COUNTS) this.counts[name] += other[name]
    this.abandoned += other.abandoned ?? 0
    this.#errors.addAll(other.errors)
    this.latency.addAll(other.latency.histogram)
  }

  result(): ToolResult {
    return {
      tool: this.#tool,
      ...this.counts,
      ...(this.abandoned > 0 && { abandoned: this.abandoned }),
      errors: this.#errors.list(),
      latency: this.latency.latency(),
    }
  }
}
