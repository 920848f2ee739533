import type { Outcome } from '../mcp/call.ts'
import { headerValue, mediaType, type ResponseHead } from '../mcp/http.ts'
import { eventMessage } from '../mcp/event-message.ts'
import { outcomeOfJsonBody } from '../mcp/body-outcome.ts'
import { isModern } from '../mcp/revision.ts'
import type { SseFrame } from '../mcp/sse-framer.ts'
import type { Failure } from '../mcp/transfer.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { CallEntry } from './call-entry.ts'
import { codingOf, decodeWhole, type Coding } from './content-coding.ts'
import type { Ledger } from './ledger.ts'
import type { Observer } from './observer.ts'
import { SseWatch } from './sse-watch.ts'

/** Watches the answer of a POST that carried calls, and closes each of them. */
export class CallObserver implements Observer {
  readonly #ledger: Ledger
  readonly #telemetry: Telemetry
  readonly #entries: readonly CallEntry[]
  readonly #session: string
  readonly #limit: number
  #status = 0
  #coding: Coding = 'identity'
  #watch: SseWatch | undefined
  #sawEventIds = false
  #chunks: Uint8Array[] = []
  #size = 0

  constructor(
    ledger: Ledger,
    telemetry: Telemetry,
    entries: readonly CallEntry[],
    session: string,
    limit: number,
  ) {
    this.#ledger = ledger
    this.#telemetry = telemetry
    this.#entries = entries
    this.#session = session
    this.#limit = limit
  }

  head(head: ResponseHead): void {
    this.#status = head.status
    this.#coding = codingOf(headerValue(head.headers, 'content-encoding'))
    if (head.status >= 300) return
    if (mediaType(headerValue(head.headers, 'content-type')) !== 'text/event-stream') return
    this.#telemetry.gauge('request_streams', 1)
    this.#watch = new SseWatch(this.#coding, this.#limit, (frame) => this.#event(frame))
  }

  data(chunk: Uint8Array): void {
    if (this.#watch !== undefined) {
      this.#watch.push(chunk)
      return
    }
    this.#size += chunk.length
    if (this.#size <= this.#limit) this.#chunks.push(chunk)
    else this.#chunks = []
  }

  end(): void {
    const watch = this.#watch
    if (watch === undefined) {
      this.#answered()
      return
    }
    this.#streamOver()
    watch.end(() => this.#close('incomplete'))
  }

  fail(failure: Failure): void {
    const outcome = failure.kind === 'reset' || this.#status === 0 ? 'reset' : 'incomplete'
    this.#dropWatch()
    this.#close(outcome)
  }

  gone(): void {
    this.#dropWatch()
    this.#close('cancelled')
  }

  #dropWatch(): void {
    if (this.#watch === undefined) return
    this.#watch.drop()
    this.#streamOver()
  }

  #streamOver(): void {
    this.#watch = undefined
    this.#telemetry.gauge('request_streams', -1)
  }

  #event(frame: SseFrame): void {
    if (frame.id !== undefined) this.#sawEventIds = true
    const message = eventMessage(frame)
    if (message === undefined || message.kind === 'request' || message.kind === 'notification')
      return
    const { id } = message
    if (id === null) return
    const entry =
      this.#entries.find((own) => !own.settled && own.call.id === id) ??
      this.#ledger.find(this.#session, id)
    if (entry !== undefined) this.#ledger.answer(entry, message)
  }

  /** A whole answer that is no stream. */
  #answered(): void {
    const entries = this.#entries
    if (this.#status === 202 && entries[0]?.call.transport === 'http+sse') {
      this.#close('incomplete')
      return
    }
    const outcomes = this.#outcomes()
    for (let i = 0; i < entries.length; i++) {
      this.#ledger.settle(entries[i]!, outcomes?.[i] ?? this.#blind(), 'upstream')
    }
  }

  #outcomes(): Outcome[] | undefined {
    if (this.#size > this.#limit) return undefined
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    const plain = decodeWhole(this.#coding, bytes, this.#limit)
    if (plain === undefined) return undefined
    const calls = this.#entries.map((entry) => entry.call)
    return outcomeOfJsonBody(calls, this.#status, plain)
  }

  /** The outcome of an answer that arrived whole but is too large, or coded in a way not known here. */
  #blind(): Outcome {
    return this.#status >= 400 ? 'http_error' : 'ok'
  }

  /** What is still open is left to another connection where the protocol has one, and closed otherwise. */
  #close(outcome: Outcome): void {
    for (const entry of this.#entries) {
      if (entry.settled) continue
      const { transport, revision } = entry.call
      const elsewhere = transport === 'http+sse' || (this.#sawEventIds && !isModern(revision))
      if (elsewhere) this.#ledger.leaveOpen(entry, outcome)
      else this.#ledger.settle(entry, outcome, 'upstream')
    }
  }
}
