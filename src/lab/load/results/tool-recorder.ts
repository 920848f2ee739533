import type { CallResponse } from '../clients/load-client.ts'
import { Histogram } from './histogram.ts'
import type { ErrorCount, ErrorKind, Origin, ToolResult } from './result.ts'

/** The properties of a call that are counted by tool and over the whole run. */
export const CHECKS = ['responded', 'schemaOk', 'usable', 'correct', 'inTime'] as const
export const TOOL_COUNTS = ['calls', 'ok', 'retries', ...CHECKS] as const

/** The checks of a response. */
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

/** Counts the outcomes of the calls of one tool. */
export class ToolRecorder {
  readonly #tool: string
  readonly #errors = new ErrorCounts()
  readonly latency = new Histogram()
  readonly counts = {
    calls: 0,
    ok: 0,
    retries: 0,
    responded: 0,
    schemaOk: 0,
    usable: 0,
    correct: 0,
    inTime: 0,
  }
  /** Calls that were cut before their end. */
  abandoned = 0

  constructor(tool: string) {
    this.#tool = tool
  }

  add(outcome: CallOutcome): void {
    const { response, origin, latencyMs } = outcome
    this.counts.calls++
    this.counts.ok += Number(outcome.success)
    for (const check of CHECKS) this.counts[check] += Number(outcome[check])
    if (response.kind !== 'ok') this.#errors.add(response.kind, origin, response.code)
    this.latency.add(latencyMs)
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

/** Limits the distinct codes, because servers choose them; further errors are counted without a code. */
const MAX_DIFFERENT = 200

/** Counts errors by kind, origin and code. */
export class ErrorCounts {
  readonly #counts = new Map<string, ErrorCount>()

  add(kind: ErrorKind, origin: Origin, code: number | undefined, count = 1): void {
    const exact = `${kind} ${origin} ${code ?? ''}`
    const room = this.#counts.has(exact) || this.#counts.size < MAX_DIFFERENT
    const key = room ? exact : `${kind} ${origin} `
    const before = this.#counts.get(key)?.count ?? 0
    const coded = room && code !== undefined ? { code } : {}
    this.#counts.set(key, { kind, origin, ...coded, count: before + count })
  }

  addAll(counts: readonly ErrorCount[]): void {
    for (const { kind, origin, code, count } of counts) this.add(kind, origin, code, count)
  }

  /** Returns the counts, the most frequent first. */
  list(): ErrorCount[] {
    const text = ({ kind, origin, code }: ErrorCount): string => `${kind} ${origin} ${code ?? ''}`
    return [...this.#counts.values()].sort((a, b) =>
      a.count === b.count ? (text(a) < text(b) ? -1 : 1) : b.count - a.count,
    )
  }
}
