import type { Cut } from '../../exchange.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import type { PushChannel } from './push-channel.ts'
import type { PushChainsOf, PushedCall } from './pushed-call.ts'
import { PushSession } from './push-session.ts'
import { PushStream } from './push-stream.ts'

/** The streams that clients of one listener have opened by GET, by the session they belong to. */
export class PushStreams implements PushChannel, PushChainsOf {
  readonly #sessions = new Map<string, PushSession>()
  readonly #maxEvent: number
  readonly #holdTimeout: number

  /**
   * Events of more than `maxEvent` bytes pass unread, and faults hold no more than that of one stream.
   * Half an event is held for so many milliseconds at most.
   */
  constructor(maxEvent: number, holdTimeout: number) {
    this.#maxEvent = maxEvent
    this.#holdTimeout = holdTimeout
  }

  /** A stream that is about to be asked for. */
  open(): PushStream {
    return new PushStream(this, this.#maxEvent, this.#holdTimeout)
  }

  /** How many sessions are known by a stream or by a call. */
  get size(): number {
    return this.#sessions.size
  }

  /** It has become known which session a stream belongs to. */
  join(key: string, stream: PushStream): PushSession {
    const session = this.#session(key)
    session.streams.push(stream)
    return session
  }

  /** A stream is over. */
  leave(session: PushSession, stream: PushStream): void {
    const at = session.streams.indexOf(stream)
    if (at >= 0) session.streams.splice(at, 1)
    this.#tidy(session)
  }

  /**
   * Where simple servers announce one endpoint to everybody, nothing tells whose stream it is that the
   * response belongs on: then there is none.
   */
  send(key: string, bytes: Uint8Array): boolean {
    const streams = this.#sessions.get(key)?.streams ?? []
    const [only] = streams
    if (only === undefined) return false
    if (streams.length === 1) return only.send(bytes)
    if (only.announced) return false
    // All streams of a session of Streamable HTTP belong to one client.
    return streams.toReversed().some((stream) => stream.send(bytes))
  }

  /** Ends all streams of a session as a server does that goes away. Gives how many there were. */
  end(key: string, how: Cut): number {
    const streams = this.#sessions.get(key)?.streams.slice() ?? []
    for (const stream of streams) stream.cut(how)
    return streams.length
  }

  arm(key: string, pushed: PushedCall): NotApplicableReason | undefined {
    if (key === '') return 'answered_elsewhere'
    const streams = this.#sessions.get(key)?.streams ?? []
    if (pushed.call.transport === 'http+sse') {
      if (streams.length === 0) return 'no_push_stream'
      if (streams.every((stream) => !stream.readable)) return 'unreadable'
    }
    const session = this.#session(key)
    session.add(pushed)
    for (const stream of session.streams) stream.update()
    return undefined
  }

  release(key: string, pushed: PushedCall, done: () => void): void {
    const session = this.#sessions.get(key)
    if (session === undefined) {
      done()
      return
    }
    session.remove(pushed)
    const carrier = session.streams.find((stream) => stream.carries(pushed))
    if (carrier === undefined) done()
    else carrier.release(pushed, done)
    for (const stream of session.streams) stream.update()
    this.#tidy(session)
  }

  #session(key: string): PushSession {
    let session = this.#sessions.get(key)
    if (session === undefined) this.#sessions.set(key, (session = new PushSession(key)))
    return session
  }

  #tidy(session: PushSession): void {
    if (session.empty && this.#sessions.get(session.key) === session) {
      this.#sessions.delete(session.key)
    }
  }
}
