import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import { responseFactsOf } from '../../../http/response-facts.ts'
import type { Failure, ResponseSink, Transfer } from '../../../http/transfer.ts'
import type { Cut } from '../../exchange.ts'
import { sharesStream } from '../../../mcp/call.ts'
import type { CallInjection } from '../call-injection.ts'
import { isStream } from '../emit/injected-response.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { PushChannel, PushSession, type PushSessions } from './push-channel.ts'

/** Carries a stream that a client opened by GET, and its events through faults. */
export class PushStream extends PushChannel implements ResponseSink, Transfer {
  /** True when a fault has cut the stream. */
  cutByFault = false
  #upstream: Transfer | undefined
  /** False for a response without events. */
  #isStream = false

  /** Sets the upstream's transfer. */
  attach(upstream: Transfer): void {
    this.#upstream = upstream
    if (this.hasEnded) upstream.abort()
  }

  info(head: ResponseHead): void {
    this.client.sink.info(head)
  }

  head(head: ResponseHead): void {
    if (this.hasEnded) return
    this.#isStream = isStream(head)
    this.readable = this.#isStream && responseFactsOf(head).coding === 'identity'
    this.client.sink.head(head)
  }

  data(chunk: Uint8Array): boolean {
    if (this.hasEnded) return true
    return this.#isStream ? this.takeBytes(chunk) : this.client.sink.data(chunk)
  }

  end(trailers: HeaderLines): void {
    // A session of HTTP+SSE ends with its stream: nobody waits for held events.
    this.finish(this.announced, () => this.client.sink.end(trailers))
  }

  fail(failure: Failure): void {
    this.finish(true, () => this.client.sink.fail(failure))
  }

  resume(): void {
    if (this.#isStream) this.drained()
    else this.resumeUpstream()
  }

  abort(): void {
    this.#upstream?.abort()
    this.close()
  }

  override cut(how: Cut): void {
    if (this.hasEnded) return
    this.close()
    this.cutByFault = true
    this.abort()
    const kind = how === 'rst' ? 'reset' : 'closed'
    this.client.sink.fail({ kind, message: 'a fault ended the session' })
  }

  protected override resumeUpstream(): void {
    this.#upstream?.resume()
  }
}

/** Holds the streams that clients opened by GET, by session. */
export class PushStreams implements PushSessions {
  readonly maxEvent: number
  readonly holdTimeout: number
  readonly #sessions = new Map<string, PushSession>()

  constructor(maxEvent: number, holdTimeout: number) {
    this.maxEvent = maxEvent
    this.holdTimeout = holdTimeout
  }

  /** The number of sessions with a stream or a call. */
  get size(): number {
    return this.#sessions.size
  }

  join(key: string, stream: PushChannel): PushSession {
    const session = this.#session(key)
    session.streams.push(stream)
    return session
  }

  leave({ key }: PushSession, stream: PushChannel): void {
    const session = this.#sessions.get(key)
    if (session === undefined) return
    const at = session.streams.indexOf(stream)
    if (at >= 0) session.streams.splice(at, 1)
    this.#tidy(session)
  }

  /**
   * Sends whole events on a session's stream, between two of the upstream's. Returns false without
   * a stream, and when several clients share an announced endpoint, because the stream of the
   * response is unknown.
   */
  send(key: string, bytes: Uint8Array, begin: () => void): boolean {
    const streams = this.#sessions.get(key)?.streams ?? []
    // All streams of a Streamable HTTP session belong to one client.
    if (streams.length > 1 && streams[0]!.announced) return false
    return streams.toReversed().some((stream) => stream.send(bytes, begin))
  }

  /** Ends all streams of a session like a server that terminates. */
  end(key: string, how: Cut): void {
    for (const stream of this.#sessions.get(key)?.streams.slice() ?? []) stream.cut(how)
  }

  /** Sends the call's events through its faults; returns the reason when that is impossible. */
  arm(key: string, own: CallInjection): NotApplicableReason | undefined {
    if (key === '') return 'responded_elsewhere'
    const streams = this.#sessions.get(key)?.streams ?? []
    if (sharesStream(own.call!.transport)) {
      if (streams.length === 0) return 'no_push_stream'
      if (streams.every((stream) => !stream.readable)) return 'unreadable'
    }
    const session = this.#session(key)
    session.calls = [...session.calls, own]
    for (const stream of session.streams) stream.update()
    return undefined
  }

  /** Releases a settled call; `done` is called when its faults hold no events. */
  release(key: string, own: CallInjection, done: () => void): void {
    const session = this.#sessions.get(key)
    session?.remove(own)
    if (session?.streams.some((stream) => stream.release(own, done)) !== true) done()
    if (session === undefined) return
    for (const stream of session.streams) stream.update()
    this.#tidy(session)
  }

  #session(key: string): PushSession {
    let session = this.#sessions.get(key)
    if (session === undefined) this.#sessions.set(key, (session = new PushSession(key)))
    return session
  }

  #tidy(session: PushSession): void {
    const { streams, calls } = session
    if (streams.length + calls.length === 0 && this.#sessions.get(session.key) === session) {
      this.#sessions.delete(session.key)
    }
  }
}
