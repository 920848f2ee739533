/** A sampled trace is not replaced by an unsampled one for this long. */
const KEEP_MS = 60_000

/** Offsets in a traceparent: version 2, trace id 32, span id 16, flags 2, joined by dashes. */
const TRACE_ID = 3
export const SPAN_ID = 36
const FLAGS = 53

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
    const trace = traceId(this.#trace)
    const span = this.#trace.slice(SPAN_ID, FLAGS - 1)
    return ` # {trace_id="${trace}",span_id="${span}"} ${this.#value} ${this.#at / 1000}`
  }
}

/** Stores a trace in an exemplar, which is created at the first trace. */
export function exemplified(held: Exemplar | undefined, trace: string, value = 1): Exemplar {
  const exemplar = held ?? new Exemplar()
  exemplar.take(trace, value)
  return exemplar
}

/** Returns the trace id of a traceparent. */
export function traceId(trace: string): string {
  return trace.slice(TRACE_ID, SPAN_ID - 1)
}

/** Returns true for a traceparent whose trace is recorded. */
export function isSampled(trace: string | undefined): boolean {
  return trace !== undefined && (Number.parseInt(trace.slice(FLAGS), 16) & 1) === 1
}
