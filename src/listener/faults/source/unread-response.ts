import type { HeaderLines } from '../../../http/headers.ts'
import type { Failure } from '../../../http/transfer.ts'
import type { ResponsePart, ResponseSetting } from './response-part.ts'

/** A response that no fault wants to see: only its head may carry marks. */
export class UnreadResponse implements ResponsePart {
  readonly #setting: ResponseSetting

  constructor(setting: ResponseSetting) {
    this.#setting = setting
    setting.outlet.head(setting.head)
  }

  data(chunk: Uint8Array): boolean {
    return this.#setting.outlet.data(chunk)
  }

  end(trailers: HeaderLines): void {
    const { outlet, run } = this.#setting
    // What faults still do with the bytes is none of the app's time.
    if (outlet.stage !== undefined) run.options.onResponded?.(undefined)
    outlet.end(trailers)
  }

  fail(failure: Failure): void {
    this.#setting.outlet.fail(failure)
  }

  resume(): void {
    this.#setting.resumeApp()
  }

  stop(): void {
    // Nothing is held.
  }
}
