import type { Outcome } from '../mcp/call.ts'
import type { ChunkRun } from '../http/chunk-run.ts'
import type { ForeignMark } from '../http/foreign-markers.ts'
import { headerValue, mediaType, type RequestHead, type ResponseHead } from '../http/headers.ts'
import { eachResponse } from '../mcp/event-message.ts'
import { signIn } from '../mcp/event-signs.ts'
import { SseFramer, type SseFrame } from '../mcp/sse-framer.ts'
import type { Failure } from '../http/transfer.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { codingOf } from '../http/content-coding.ts'
import type { PushPosition } from './faults/emit/event-outlets.ts'
import type { PushStream } from './faults/source/push-streams.ts'
import type { InFlightRequests } from './in-flight-requests.ts'
import type { Observer, ObserverBounds } from './observer.ts'
import { SseWatch } from './sse-watch.ts'

/**
 * Observes a stream that the client opened by GET: the push stream of a session, a resumed stream,
 * or the stream of HTTP+SSE. It carries responses to calls of other exchanges.
 */
export class PushObserver implements Observer, PushPosition {
  readonly #inFlight: InFlightRequests
  readonly #telemetry: Telemetry
  readonly #target: string
  readonly #bounds: ObserverBounds
  /** Undefined when no fault can act on the stream. */
  readonly #stream: PushStream | undefined
  #session: string
  #endpoint: string | undefined
  #watch: SseWatch | undefined

  constructor(
    inFlight: InFlightRequests,
    telemetry: Telemetry,
    head: RequestHead,
    bounds: ObserverBounds,
    stream?: PushStream,
  ) {
    this.#stream = stream
    stream?.setPosition(this)
    this.#inFlight = inFlight
    this.#telemetry = telemetry
    this.#target = head.target
    this.#bounds = bounds
    this.#session = headerValue(head.headers, 'mcp-session-id') ?? ''
  }

  get behind(): boolean {
    return this.#bounds.memory.isBehind(this.#watch?.unread ?? 0)
  }

  head(head: ResponseHead): void {
    if (head.status >= 300) return
    if (mediaType(headerValue(head.headers, 'content-type')) !== 'text/event-stream') return
    this.#telemetry.gauge('push_streams', 1)
    const coding = codingOf(headerValue(head.headers, 'content-encoding'))
    this.#watch = new SseWatch(
      coding,
      this.#bounds.limit,
      (text, from) => this.#sign(text, from),
      (frame, mark) => this.#event(frame, mark),
      this.#bounds.memory,
    )
    this.#stream?.setSession(this.#session, false)
  }

  /**
   * True between two events, and when nothing is observed any more, so that nothing waits forever.
   */
  get between(): boolean {
    return this.#watch?.between ?? true
  }

  fork(): SseFramer {
    return this.#watch?.fork() ?? new SseFramer(this.#bounds.limit, this.#bounds.memory)
  }

  data(chunk: Uint8Array): void {
    this.#watch?.push(chunk)
  }

  chunks(run: ChunkRun): void {
    this.#watch?.chunks(run)
  }

  end(): void {
    this.#close('incomplete')
  }

  fail(failure: Failure): void {
    this.#close(failure.kind === 'reset' ? 'reset' : 'incomplete')
  }

  gone(): void {
    this.#close('abandoned')
  }

  #close(outcome: Outcome): void {
    const watch = this.#watch
    if (watch === undefined) return
    this.#streamEnded()
    watch.end(() => this.#endSession(outcome))
  }

  #streamEnded(): void {
    this.#watch = undefined
    this.#telemetry.gauge('push_streams', -1)
  }

  /** Ends the session of an HTTP+SSE stream; other streams can be resumed. */
  #endSession(outcome: Outcome): void {
    const origin = this.#stream?.cutByFault === true ? 'injected' : 'real'
    if (this.#endpoint !== undefined) this.#inFlight.closeEndpoint(this.#endpoint, outcome, origin)
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
      this.#endpoint = this.#inFlight.endpoints.announce(this.#target, frame.data)
      this.#session = this.#endpoint ?? this.#session
      if (this.#endpoint !== undefined) this.#stream?.setSession(this.#endpoint, true)
      return
    }
    eachResponse(frame, (message, bytes) => {
      if (message.id === null) return
      const entry = this.#inFlight.find(this.#session, message.id)
      if (entry !== undefined) this.#inFlight.response(entry, message, bytes, mark)
    })
  }
}
