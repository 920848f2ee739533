import type { Origin, Outcome } from '../mcp/call.ts'
import type { ChunkRun } from '../http/chunk-run.ts'
import type { ForeignMark } from '../http/foreign-markers.ts'
import {
  headerValue,
  type HeaderLines,
  type RequestHead,
  type ResponseHead,
} from '../http/headers.ts'
import { responseFactsOf } from '../http/response-facts.ts'
import { eachResponse } from '../mcp/event-message.ts'
import { signIn } from '../mcp/event-signs.ts'
import { SseFramer, type SseFrame } from '../mcp/sse-framer.ts'
import type { Failure } from '../http/transfer.ts'
import { resume } from './call-entry.ts'
import { rawTextOf, settleUnread } from './call-observer.ts'
import type { Explained } from './ended-call.ts'
import type { ExchangeObserver } from './exchange-observer.ts'
import type { PushPosition } from './faults/emit/event-outlets.ts'
import type { PushStream } from './faults/source/push-streams.ts'
import type { StackParts } from './layers/stack-parts.ts'
import type { Observer } from './observer.ts'
import { SseWatch } from './sse-watch.ts'

/**
 * Observes a stream that the client opened by GET: the push stream of a session, a resumed stream,
 * or the stream of HTTP+SSE. It carries responses to calls of other exchanges.
 */
export class PushObserver implements Observer, PushPosition {
  /** Undefined when no fault can act on the stream. */
  stream: PushStream | undefined
  readonly #parts: StackParts
  readonly #target: string
  /** True for a client that comes back after an event. */
  readonly #resumes: boolean
  /** Counts the exchange. */
  readonly #account: Observer
  #session: string
  #endpoint: string | undefined
  #watch: SseWatch | undefined

  constructor(parts: StackParts, head: RequestHead, account: ExchangeObserver) {
    this.#parts = parts
    this.#account = account
    this.#target = head.target
    this.#session = headerValue(head.headers, 'mcp-session-id') ?? ''
    this.#resumes = headerValue(head.headers, 'last-event-id') !== undefined
    if (!this.#resumes) return
    for (const entry of parts.inFlight.calls.inSessions.ofSession(this.#session))
      if (!entry.exchangeOpen) resume(entry, account)
  }

  get behind(): boolean {
    return this.#parts.memory.isBehind(this.#watch?.unread ?? 0)
  }

  head(head: ResponseHead): void {
    this.#account.head(head)
    const { coding, streams } = responseFactsOf(head)
    if (head.status >= 300 || !streams) return
    this.#parts.telemetry.gauge('push_streams', 1)
    if (this.#resumes) this.#parts.inFlight.resumed(this.#session)
    this.#watch = new SseWatch(
      coding,
      this.#parts.maxBody,
      (text, from) => this.#sign(text, from),
      (frame, mark) => this.#event(frame, mark),
      this.#parts.memory,
    )
    this.#watch.onUnread = (id) => {
      const entry = this.#parts.inFlight.calls.find(this.#session, id)
      if (entry !== undefined) settleUnread(this.#parts.inFlight, entry)
    }
    this.stream?.join(this.#session, false)
  }

  /**
   * True between two events, and when nothing is observed any more, so that nothing waits forever.
   */
  get between(): boolean {
    return this.#watch?.between ?? true
  }

  fork(): SseFramer {
    return this.#watch?.fork() ?? new SseFramer(this.#parts.maxBody, this.#parts.memory)
  }

  data(chunk: Uint8Array): void {
    this.#watch?.push(chunk)
  }

  chunks(run: ChunkRun): void {
    this.#watch?.chunks(run)
  }

  end(trailers: HeaderLines): void {
    this.#close('incomplete')
    this.#account.end(trailers)
  }

  fail(failure: Failure): void {
    this.#close(failure.kind === 'reset' ? 'reset' : 'incomplete')
    this.#account.fail(failure)
  }

  gone(): void {
    this.#close('abandoned')
    this.#account.gone()
  }

  settle(outcome: Outcome, origin: Origin, error: Explained): void {
    this.#account.settle(outcome, origin, error)
  }

  #close(outcome: Outcome): void {
    const watch = this.#watch
    if (watch === undefined) return
    this.#streamEnded()
    watch.end(() => this.#endSession(outcome))
  }

  #streamEnded(): void {
    this.#watch = undefined
    this.#parts.telemetry.gauge('push_streams', -1)
  }

  /** Ends the session of an HTTP+SSE stream; other streams can be resumed. */
  #endSession(outcome: Outcome): void {
    const origin = this.stream?.cutByFault === true ? 'injected' : 'real'
    if (this.#endpoint !== undefined)
      this.#parts.sessions.closeEndpoint(this.#endpoint, outcome, origin)
  }

  /** Finds responses and, until an endpoint is announced, the `endpoint` event. */
  #sign(text: string, from: number): number {
    const sign = signIn(text, from, false)
    if (this.#endpoint !== undefined) return sign
    const endpoint = text.indexOf('endpoint', from)
    return endpoint < 0 ? sign : Math.min(sign, endpoint)
  }

  #event(frame: SseFrame, mark: ForeignMark): void {
    if (frame.event === 'endpoint' && this.#endpoint === undefined && frame.data !== undefined) {
      this.#endpoint = this.#parts.sessions.endpoints.announce(this.#target, frame.data)
      this.#session = this.#endpoint ?? this.#session
      if (this.#endpoint !== undefined) this.stream?.join(this.#endpoint, true)
      return
    }
    eachResponse(frame, (message, bytes) => {
      if (message.id === null) return
      const entry = this.#parts.inFlight.calls.find(this.#session, message.id)
      if (entry === undefined) return
      const raw = rawTextOf(frame.outline && frame)
      this.#parts.inFlight.settleResponse(entry, message, bytes, mark, raw)
    })
  }
}
