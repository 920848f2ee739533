/** How long a sampled trace is kept although others come that were not sampled. */
const KEEP_MS = 60_000

/** Where the parts of a trace are: version 2, trace id 32, span id 16, flags 2, dashes between them. */
const TRACE_ID = 3
const SPAN_ID = 36
const FLAGS = 53

/** The trace that was seen last in one place of a metric: plain fields, written over and over. */
export class Exemplar {
  #trace = ''
  #value = 0
  #at = 0

  /** `trace` is a valid traceparent of 55 characters. */
  take(trace: string, value: number): void {
    const now = Date.now()
    // A trace that nobody recorded leads nowhere: it does not take the place of one that leads there.
    if (isSampled(this.#trace) && !isSampled(trace) && now - this.#at < KEEP_MS) return
    this.#trace = trace
    this.#value = value
    this.#at = now
  }

  /** As OpenMetrics has it behind a sample. */
  get text(): string {
    const trace = this.#trace.slice(TRACE_ID, SPAN_ID - 1)
    const span = this.#trace.slice(SPAN_ID, FLAGS - 1)
    return ` # {trace_id="${trace}",span_id="${span}"} ${this.#value} ${this.#at / 1000}`
  }
}

/** The exemplar of a place, made when it is first needed, with one more trace. */
export function exemplified(held: Exemplar | undefined, trace: string, value = 1): Exemplar {
  const exemplar = held ?? new Exemplar()
  exemplar.take(trace, value)
  return exemplar
}

function isSampled(trace: string): boolean {
  return (Number.parseInt(trace.slice(FLAGS), 16) & 1) === 1
}
