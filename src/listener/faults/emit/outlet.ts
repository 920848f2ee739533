import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import { type ExchangeFaults, takeAllMarkers } from '../exchange-faults.ts'
import type { WholeResponse } from '../../rejection.ts'
import { withMarkers } from './injected-response.ts'
import { OutputStage } from '../chain/output-stage.ts'
import { Valve } from '../../../base/valve.ts'

/** Larger bodies may wait for the client. */
const AT_ONCE = 8 * 1024

/** Receives the events of an outlet. */
export interface OutletEvents {
  /** The client accepts data again after `data` returned false. */
  onDrain(): void
  /** The response has ended; further data of an upstream that has not ended is not needed. */
  done(upstreamHasEnded: boolean): void
}

/**
 * Sends a response to the client: adds markers to heads, waits for a slow client, and ends the
 * faults with the response.
 */
export class Outlet extends Valve {
  started = false
  ended = false
  readonly #sink: ResponseSink
  readonly #faults: ExchangeFaults
  readonly #events: OutletEvents
  /** The faults that act on the response as HTTP, if any. */
  #stage: OutputStage | undefined
  #to: ResponseSink | OutputStage

  constructor(sink: ResponseSink, faults: ExchangeFaults, events: OutletEvents) {
    super()
    this.#sink = this.#to = sink
    this.#faults = faults
    this.#events = events
  }

  /** Sends the upstream's response through the faults that act on it. Only before the head. */
  addStage(): void {
    const onDrain = (): void => this.#drained()
    const done = (hasEnded: boolean): void => this.#events.done(hasEnded)
    this.#to = this.#stage = new OutputStage(this.#faults, this.#sink, onDrain, done)
  }

  /** Bypasses the stage for a fault's response, which no other fault may change. */
  bypass(): void {
    if (this.started) return
    this.#stage = undefined
    this.#to = this.#sink
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
    this.blocked = true
    return false
  }

  end(trailers: HeaderLines): void {
    if (this.#close()) this.#to.end(trailers)
  }

  fail(failure: Failure): void {
    if (this.#close()) this.#to.fail(failure)
  }

  /** Sends a complete response. Its memory is held until the client has taken most of it. */
  whole({ head, bytes }: WholeResponse): void {
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

  /** Continues when the client accepts data. */
  resume(): void {
    if (this.#stage === undefined) this.#drained()
    else this.#stage.open()
  }

  /** Ends the response after the client has left. */
  stop(): void {
    this.#stage?.stop()
    this.#close()
    this.#faults.finish()
  }

  #drained(): void {
    this.open()
    this.#events.onDrain()
  }

  #close(): boolean {
    if (this.ended) return false
    this.ended = true
    // A stage may still have bytes to send.
    if (this.#stage === undefined) this.#faults.finish()
    if (this.blocked) this.open()
    return true
  }
}
