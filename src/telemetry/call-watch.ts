import { type CallLine, callLine, type EndedCall } from './call-line.ts'
import { ErrorSamples } from './error-samples.ts'
import { isError } from './outcome-index.ts'
import { ShownIds } from './shown-ids.ts'
import type { Spans } from './spans.ts'
import type { CallRecord } from './telemetry.ts'

/** Receives each call that ends. Must not throw. */
export type CallReader = (line: CallLine) => void

/** Configures what is shown of single calls. */
export interface CallWatchOptions {
  /** Shows ids; in full by default. */
  readonly ids?: ShownIds
  /** False keeps the messages of errors out of their samples. */
  readonly messages?: boolean
  /** Milliseconds since the epoch. */
  readonly now?: () => number
}

/**
 * Shows single calls to readers, and samples errors. Calls without readers and errors cost nothing.
 */
export class CallWatch {
  readonly errors: ErrorSamples
  /** Undefined while no collector is named. */
  spans: Spans | undefined
  readonly #ids: ShownIds
  readonly #now: () => number
  readonly #readers = new Set<CallReader>()

  constructor({ ids = new ShownIds(), messages = true, now = Date.now }: CallWatchOptions = {}) {
    this.#ids = ids
    this.#now = now
    this.errors = new ErrorSamples(this.#ids, messages)
  }

  /** Returns true when `ended` must get this call. */
  wants({ outcome, trace }: Pick<CallRecord, 'outcome' | 'trace'>, mayHaveFaults = false): boolean {
    const isRead = isError(outcome) || this.#readers.size > 0
    return isRead || this.spans?.wants(trace, mayHaveFaults) === true
  }

  ended(call: EndedCall): void {
    // A call that its client left is counted later.
    const at = this.#now() - Math.max(0, performance.now() - call.endedAt)
    if (this.spans !== undefined) call.span = this.spans.call(call)
    if (isError(call.outcome)) this.errors.add(call, at)
    if (this.#readers.size === 0) return
    const line = callLine(call, at, this.#ids)
    for (const reader of this.#readers) reader(line)
  }

  /** Adds a reader; returns the function that removes it. */
  read(reader: CallReader): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }
}
