import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import { type ExchangeFaults, takeAllMarkers } from '../exchange-faults.ts'
import { withMarkers, type InjectedResponse } from './injected-response.ts'
import { OutputStage, type OutputEvents } from '../chain/output-stage.ts'

/** Larger bodies may wait for the client. */
const AT_ONCE = 8 * 1024

/**
 * Sends a response to the client: adds markers to heads, waits for a slow client, and ends the
 * faults with the response.
 */
export class Outlet {
  started = false
  ended = false
  readonly #sink: ResponseSink
  readonly #faults: ExchangeFaults
  #stage: OutputStage | undefined
  #blocked = false
  #waiting: (() => void)[] = []

  constructor(sink: ResponseSink, faults: ExchangeFaults) {
    this.#sink = sink
    this.#faults = faults
  }

  /** The stage of faults that act on the response as HTTP, if any. */
  get stage(): OutputStage | undefined {
    return this.#stage
  }

  /** Sends the upstream's response through a stage. Only before the head. */
  addStage(events: OutputEvents): void {
    this.#stage = new OutputStage(this.#faults, this.#sink, events)
  }

  /** Bypasses the stage for a fault's response, which no other fault may change. */
  bypass(): void {
    if (!this.started) this.#stage = undefined
  }

  /** True while the client accepts no more data. */
  get blocked(): boolean {
    return this.#blocked
  }

  info(head: ResponseHead): void {
    if (!this.ended) this.#sink.info(head)
  }

  head(head: ResponseHead, whole = false): void {
    if (this.ended) return
    this.started = true
    this.#to.head(withMarkers(head, takeAllMarkers(this.#faults)), whole)
  }

  /** Sends a part of the body; false asks for a pause until `resume`. */
  data(bytes: Uint8Array): boolean {
    if (this.ended || bytes.length === 0) return true
    if (this.#to.data(bytes)) return true
    this.#blocked = true
    return false
  }

  end(trailers: HeaderLines): void {
    if (!this.#close()) return
    this.#to.end(trailers)
  }

  fail(failure: Failure): void {
    if (!this.#close()) return
    this.#to.fail(failure)
  }

  /** Sends a complete response. Its memory is held until the client has taken most of it. */
  whole({ head, bytes }: InjectedResponse): void {
    this.head(head, bytes.length <= AT_ONCE)
    this.data(bytes)
    const ready = this.ready()
    if (ready === undefined) this.end([])
    else void ready.then(() => this.end([]))
  }

  /** Cuts the client's connection. */
  cut(how: 'rst' | 'fin'): void {
    const kind = how === 'rst' ? 'reset' : 'closed'
    const failure: Failure = { kind, message: 'a fault cut the response' }
    if (this.#stage === undefined || !this.started) this.fail(failure)
    else if (this.#close()) this.#stage.cut(failure)
  }

  resume(): void {
    this.#blocked = false
    for (const go of this.#waiting.splice(0)) go()
  }

  /**
   * Resolves when the client accepts data or has left; returns undefined when no wait is needed.
   */
  ready(): Promise<void> | undefined {
    if (!this.#blocked || this.ended) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Ends the response after the client has left. */
  stop(): void {
    this.#stage?.stop()
    this.#close()
    this.#faults.finish()
  }

  get #to(): OutputStage | ResponseSink {
    return this.#stage ?? this.#sink
  }

  #close(): boolean {
    if (this.ended) return false
    this.ended = true
    // A stage may still have bytes to send.
    if (this.#stage === undefined) this.#faults.finish()
    this.resume()
    return true
  }
}
