import type { HeaderLines } from '../../../http/headers.ts'
import type { Failure } from '../../../http/transfer.ts'
import type { ResponsePart, ResponseContext } from './response-part.ts'

/** Forwards a response on which no fault acts; only its head may carry markers. */
export class UnreadResponse implements ResponsePart {
  readonly #context: ResponseContext

  constructor(context: ResponseContext) {
    this.#context = context
    context.outlet.head(context.head)
  }

  data(chunk: Uint8Array): boolean {
    return this.#context.outlet.data(chunk)
  }

  end(trailers: HeaderLines): void {
    const { outlet, faults } = this.#context
    // The time of the HTTP faults is not the app's.
    if (outlet.stage !== undefined) faults.options.onResponded?.(undefined)
    outlet.end(trailers)
  }

  fail(failure: Failure): void {
    this.#context.outlet.fail(failure)
  }

  resume(): void {
    this.#context.resumeApp()
  }

  stop(): void {
    // Nothing is held.
  }
}
