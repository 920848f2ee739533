import { headerValue, mediaType } from '../../../http/headers.ts'
import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import { readEvent } from '../../../mcp/event-message.ts'
import type { SseFrame } from '../../../mcp/sse-framer.ts'
import type { Failure, ResponseSink, Transfer } from '../../../http/transfer.ts'
import { codingOf } from '../../../http/content-coding.ts'
import type { Cut } from '../../exchange.ts'
import { type Message, progressTokenOf } from '../../../mcp/json-rpc.ts'
import { sharesStream } from '../../../mcp/call.ts'
import type { ChainFrame } from '../chain/frame.ts'
import { PushChains } from './push-chains.ts'
import { type BatchReader, eventFrame, eventsOf } from './batch-events.ts'
import { MessageGate, type MessagePlanner } from './server-messages.ts'
import { PushOutlet, type PushPosition } from '../emit/event-outlets.ts'
import type { PushedCall } from '../call-injection.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { TimedFramer } from './sse-feed.ts'

/**
 * Carries a stream that a client opened by GET. Bytes pass at once, also parts of events. Only
 * while faults await an event the stream is read event by event: events of calls with faults go
 * through their chains, all others pass when they are complete.
 */
export class PushStream implements ResponseSink, Transfer {
  /** True for the stream of HTTP+SSE, which announced its endpoint. */
  announced = false
  /** True when a fault has cut the stream. */
  cutByFault = false
  readonly #streams: PushStreams
  readonly #limit: number
  readonly #holdTimeout: number
  readonly #messages: MessagePlanner | undefined
  #gate: MessageGate | undefined
  #post: (text: string, target: string | undefined) => void = () => undefined
  #sink: ResponseSink | undefined
  #upstream: Transfer | undefined
  #position: PushPosition | undefined
  #outlet: PushOutlet | undefined
  #session: PushSession | undefined
  #chains: PushChains | undefined
  /** Set while the stream is read event by event. */
  #framer: TimedFramer | undefined
  #coded = false
  #busy = false
  #paused = false
  #ending = false
  #ended = false

  constructor(
    streams: PushStreams,
    limit: number,
    holdTimeout: number,
    messages: MessagePlanner | undefined,
  ) {
    this.#messages = messages
    this.#streams = streams
    this.#holdTimeout = holdTimeout
    this.#limit = limit
  }

  /** False when the events cannot be read. */
  get readable(): boolean {
    return !this.#coded
  }

  /** Sets the tracker of the client's position, which is used from the head on. */
  setPosition(position: PushPosition): void {
    this.#position = position
  }

  /** Sets the client's sink. */
  setSink(sink: ResponseSink): void {
    this.#sink = sink
  }

  /** Sets the function that posts to the upstream, by default at the request's own target. */
  setPost(post: (text: string, target: string | undefined) => void): void {
    this.#post = post
  }

  /** Sets the upstream's transfer. */
  attach(upstream: Transfer): void {
    this.#upstream = upstream
    if (this.#ended) upstream.abort()
  }

  /** Assigns the stream to its session. */
  setSession(key: string, announced: boolean): void {
    if (this.#ended || this.#outlet === undefined || key === '') return
    if (this.#session !== undefined) this.#streams.leave(this.#session, this)
    this.announced = announced
    this.#session = this.#streams.join(key, this)
    this.update()
  }

  info(head: ResponseHead): void {
    this.#sink?.info(head)
  }

  head(head: ResponseHead): void {
    if (this.#ended) return
    const type = mediaType(headerValue(head.headers, 'content-type'))
    if (head.status < 300 && type === 'text/event-stream' && this.#position !== undefined) {
      this.#coded = codingOf(headerValue(head.headers, 'content-encoding')) !== 'identity'
      this.#outlet = new PushOutlet(this.#sink!, this.#position)
    }
    this.#sink!.head(head)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#ended) return true
    const outlet = this.#outlet
    if (outlet === undefined) return this.#sink!.data(chunk)
    // A reload may have brought a rule about messages of the server.
    if (this.#messages?.isActive === true) this.update()
    this.#busy = true
    const framer = this.#framer
    if (framer === undefined) outlet.write(chunk)
    else outlet.joined(() => framer.push(chunk, (frame) => this.#frame(frame)))
    this.#busy = false
    this.update()
    this.#paused = outlet.blocked || this.#gate?.behind === true
    return !this.#paused
  }

  end(trailers: HeaderLines): void {
    // A session of HTTP+SSE ends with its stream: nobody waits for held events.
    this.#finish(this.announced, () => this.#sink!.end(trailers))
  }

  fail(failure: Failure): void {
    this.#finish(true, () => this.#sink!.fail(failure))
  }

  resume(): void {
    this.#outlet?.resume()
    if (this.#outlet !== undefined && !this.#paused) return
    if (this.#gate?.behind === true) return
    this.#paused = false
    this.#upstream?.resume()
  }

  abort(): void {
    this.#upstream?.abort()
    this.#close()
  }

  /** Sends whole events between two of the upstream's; returns false when that is impossible. */
  send(bytes: Uint8Array): boolean {
    if (this.#ended || this.#coded || this.#outlet?.offer(bytes) !== true) return false
    this.update()
    return true
  }

  /** Cuts the stream for a fault. */
  cut(how: Cut): void {
    if (this.#ended) return
    this.cutByFault = true
    this.#upstream?.abort()
    this.#close()
    const kind = how === 'rst' ? 'reset' : 'closed'
    this.#sink!.fail({ kind, message: 'a fault ended the session' })
  }

  carries(pushed: PushedCall): boolean {
    return this.#chains?.carries(pushed) === true
  }

  /** Ends the chain of a settled call. */
  release(pushed: PushedCall, done: () => void): void {
    this.#chains!.release(pushed, done)
  }

  /** Starts or stops reading the stream event by event, as needed. */
  update(): void {
    const outlet = this.#outlet
    if (outlet === undefined || this.#busy || this.#ended || this.#coded) return
    const wanted =
      (this.#session?.calls.length ?? 0) > 0 ||
      this.#chains?.active === true ||
      this.#messages?.isActive === true ||
      this.#gate?.active === true ||
      outlet.waits
    if (wanted === (this.#framer !== undefined)) return
    if (wanted && !this.#ending) {
      const isBehind = (): boolean => this.#paused
      this.#framer = new TimedFramer(this.#position!.fork(), this.#holdTimeout, isBehind)
    } else this.#endFramer()
  }

  /** Sends bytes as they come again, and first those of an incomplete event. */
  #endFramer(): void {
    const rest = this.#framer?.end()
    this.#framer = undefined
    if (rest !== undefined) this.#outlet!.write(rest)
  }

  #frame(frame: SseFrame): void {
    const whole = eventFrame(frame, readEvent(frame), this.#batch)
    if (this.#messages?.isActive === true) this.#gate ??= this.#createGate(this.#messages)
    const gate = this.#gate
    if (gate === undefined) {
      for (const each of eventsOf(whole, this.#batch)) this.#route(each)
    } else if (frame.oversized) gate.push({ kind: 'sealed', raw: frame.raw })
    else gate.push(whole)
  }

  /** The messages of a batch that faults of calls act on. */
  readonly #batch: BatchReader = {
    isOwn: (message) => this.#session?.ownerOf(message) !== undefined,
    ends: () => false,
  }

  #createGate(messages: MessagePlanner): MessageGate {
    return new MessageGate({
      batch: this.#batch,
      plan: (message) => messages.plan(message, { session: this.#session?.key }),
      onFrame: (frame) => this.#released(frame),
      onDrain: () => this.resume(),
      onIdle: () => this.update(),
      // Other messages and responses come on the stream.
      uncut: 'shared_stream',
      cut: (how) => this.cut(how),
      post: (text) => this.#post(text, this.announced ? this.#session?.key : undefined),
      memory: messages.memory,
    })
  }

  /** Sends a frame of the gate between two events, or the next part of an event. */
  #released(frame: ChainFrame): Promise<void> | undefined {
    if (this.#ended) return undefined
    if (frame.kind === 'sealed') {
      this.#outlet!.write(frame.raw)
      return this.#outlet!.ready()
    }
    return this.#outlet!.between(() => this.#route(frame))
  }

  #route(frame: ChainFrame): void {
    const session = this.#session
    const owner = session?.ownerOf(frame.message)
    if (owner !== undefined) {
      this.#chains ??= new PushChains(this.#outlet!, this.#limit, () => this.update())
      // Events behind the response are not for the call's faults.
      if (this.#chains.push(owner, frame)) session!.remove(owner)
    } else if (this.#chains === undefined) this.#outlet!.write(frame.raw)
    else this.#chains.pass(frame)
    this.#outlet!.flush()
  }

  #finish(wake: boolean, last: () => void): void {
    if (this.#ended || this.#ending) return
    this.#ending = true
    const leave = (): void => {
      if (this.#ended) return
      this.#endFramer()
      this.#outlet?.flushAll()
      this.#close()
      last()
    }
    const finishChains = (): void => {
      // No event can follow an incomplete one.
      if (this.#outlet !== undefined && !this.#position!.between) this.#chains?.drop()
      if (this.#chains?.active === true) void this.#chains.finish(wake).then(leave)
      else leave()
    }
    const gate = this.#gate
    if (gate?.active !== true) return finishChains()
    if (wake || !this.#position!.between) gate.wake()
    gate.close()
    void gate.done.then(finishChains)
  }

  #close(): void {
    if (this.#ended) return
    this.#ended = true
    this.#framer?.end()
    this.#framer = undefined
    this.#gate?.drop()
    this.#chains?.drop()
    this.#outlet?.drop()
    if (this.#session !== undefined) this.#streams.leave(this.#session, this)
  }
}

/** Shared, because thousands of streams are open, mostly without calls that have faults. */
const NO_CALLS: readonly PushedCall[] = []

/** Holds the open streams of one session, and its calls whose faults await a response. */
class PushSession {
  readonly key: string
  readonly streams: PushStream[] = []
  calls: readonly PushedCall[] = NO_CALLS

  constructor(key: string) {
    this.key = key
  }

  remove(pushed: PushedCall): void {
    this.calls = this.calls.filter((each) => each !== pushed)
  }

  /** Returns the call of a response or a progress report, if that is certain. */
  ownerOf(message: Message | undefined): PushedCall | undefined {
    if (message?.kind === 'result' || message?.kind === 'error') {
      const { id } = message
      // A reused id belongs to the newer call, as in the table of in-flight requests.
      return this.calls.findLast(({ own }) => own.call!.id === id)
    }
    const token = progressTokenOf(message)
    if (token === undefined) return undefined
    const owners = this.calls.filter(({ own }) => own.call!.progressToken === token)
    return owners.length === 1 ? owners[0] : undefined
  }
}

/** Holds the streams that clients opened by GET, by session. */
export class PushStreams {
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
  leave({ key }: PushSession, stream: PushStream): void {
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
    if (sharesStream(pushed.own.call!.transport)) {
      if (streams.length === 0) return 'no_push_stream'
      if (streams.every((stream) => !stream.readable)) return 'unreadable'
    }
    const session = this.#session(key)
    session.calls = [...session.calls, pushed]
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
    const { streams, calls } = session
    if (streams.length + calls.length === 0 && this.#sessions.get(session.key) === session) {
      this.#sessions.delete(session.key)
    }
  }
}
