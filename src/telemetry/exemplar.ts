import { isSampled, spanId, traceId } from '../http/traceparent.ts'

/** A sampled trace is not replaced by an unsampled one for this long. */
const KEEP_MS = 60_000

/** Holds the last trace of one series or bucket, in fields that are overwritten in place. */
export class Exemplar {
  #trace = ''
  #value = 0
  #at = 0

  /** `trace` is a valid traceparent of 55 characters. */
  take(trace: string, value: number): void {
    const now = Date.now()
    // An unsampled trace was not recorded, so its link leads nowhere: it must not replace a sampled
    // one.
    if (isSampled(this.#trace) && !isSampled(trace) && now - this.#at < KEEP_MS) return
    this.#trace = trace
    this.#value = value
    this.#at = now
  }

  /** The exemplar as OpenMetrics writes it behind a sample. */
  get text(): string {
    const ids = `trace_id="${traceId(this.#trace)}",span_id="${spanId(this.#trace)}"`
    return ` # {${ids}} ${this.#value} ${this.#at / 1000}`
  }
}

/** Stores a trace in an exemplar, which is created at the first trace. */
export function exemplified(held: Exemplar | undefined, trace: string, value = 1): Exemplar {
  const exemplar = held ?? new Exemplar()
  exemplar.take(trace, value)
  return exemplar
}
