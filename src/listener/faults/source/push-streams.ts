import { sharesStream } from '../../../mcp/call.ts'
import { type Message, progressTokenOf } from '../../../mcp/json-rpc.ts'
import type { PushedCall, StreamRegistry, StreamSession } from './pushed-call.ts'
import { PushStream } from './push-stream.ts'
import type { MessagePlanner } from './server-messages.ts'
import type { Cut } from '../../exchange.ts'
import type { NotApplicableReason } from '../exchange-context.ts'

/** Shared, because thousands of streams are open, mostly without calls that have faults. */
const NO_CALLS: readonly PushedCall[] = []

/** Holds the open streams of one session, and its calls whose faults await a response. */
export class PushSession implements StreamSession {
  readonly key: string
  readonly streams: PushStream[] = []
  #calls: readonly PushedCall[] = NO_CALLS

  constructor(key: string) {
    this.key = key
  }

  get armed(): boolean {
    return this.#calls.length > 0
  }

  get empty(): boolean {
    return this.streams.length === 0 && this.#calls.length === 0
  }

  add(pushed: PushedCall): void {
    this.#calls = [...this.#calls, pushed]
  }

  /** Removes a call; returns true when it was known. */
  remove(pushed: PushedCall): boolean {
    const before = this.#calls.length
    this.#calls = this.#calls.filter((each) => each !== pushed)
    return this.#calls.length < before
  }

  ownerOf(message: Message | undefined): PushedCall | undefined {
    if (message?.kind === 'result' || message?.kind === 'error') {
      const { id } = message
      // A reused id belongs to the newer call, as in the table of in-flight requests.
      return this.#calls.findLast(({ call }) => call.id === id)
    }
    const token = progressTokenOf(message)
    if (token === undefined) return undefined
    const owners = this.#calls.filter(({ call }) => call.progressToken === token)
    return owners.length === 1 ? owners[0] : undefined
  }
}

/** Holds the streams that clients opened by GET, by session. */
export class PushStreams implements StreamRegistry<PushStream> {
  readonly #sessions = new Map<string, PushSession>()
  readonly #maxEvent: number
  readonly #holdTimeout: number

  /**
   * Events of more than `maxEvent` bytes pass unread, and faults hold at most as much of one
   * stream. A partial event is held for at most `holdTimeout` milliseconds.
   */
  constructor(maxEvent: number, holdTimeout: number) {
    this.#maxEvent = maxEvent
    this.#holdTimeout = holdTimeout
  }

  /** Creates a stream before its request is sent. */
  open(messages: MessagePlanner | undefined): PushStream {
    return new PushStream(this, this.#maxEvent, this.#holdTimeout, messages)
  }

  /** The number of sessions with a stream or a call. */
  get size(): number {
    return this.#sessions.size
  }

  /** Assigns a stream to its session. */
  join(key: string, stream: PushStream): PushSession {
    const session = this.#session(key)
    session.streams.push(stream)
    return session
  }

  /** Removes an ended stream. */
  leave({ key }: StreamSession, stream: PushStream): void {
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
  send(key: string, bytes: Uint8Array): boolean {
    const streams = this.#sessions.get(key)?.streams ?? []
    const [only] = streams
    if (only === undefined) return false
    if (streams.length === 1) return only.send(bytes)
    if (only.announced) return false
    // All streams of a Streamable HTTP session belong to one client.
    return streams.toReversed().some((stream) => stream.send(bytes))
  }

  /** Ends all streams of a session like a server that terminates; returns their number. */
  end(key: string, how: Cut): number {
    const streams = this.#sessions.get(key)?.streams.slice() ?? []
    for (const stream of streams) stream.cut(how)
    return streams.length
  }

  /** Sends the call's events through its faults; returns the reason when that is impossible. */
  arm(key: string, pushed: PushedCall): NotApplicableReason | undefined {
    if (key === '') return 'responded_elsewhere'
    const streams = this.#sessions.get(key)?.streams ?? []
    if (sharesStream(pushed.call.transport)) {
      if (streams.length === 0) return 'no_push_stream'
      if (streams.every((stream) => !stream.readable)) return 'unreadable'
    }
    const session = this.#session(key)
    session.add(pushed)
    for (const stream of session.streams) stream.update()
    return undefined
  }

  /** Releases a settled call; `done` is called when its faults hold no events. */
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
