import type { Verdict } from '../../../filters/fault.ts'
import { isResponse, readEvent } from '../../../mcp/event-message.ts'
import { type Message, progressTokenOf } from '../../../mcp/json-rpc.ts'
import type { SseFrame } from '../../../mcp/sse-framer.ts'
import type { ResponseSink } from '../../../http/transfer.ts'
import type { Cut } from '../../exchange.ts'
import { noteResponse } from '../../side-faults.ts'
import { FrameChain } from '../chain/fault-chain.ts'
import { type ChainFrame, upstreamFrame } from '../chain/frame.ts'
import { type CallInjection, leave } from '../call-injection.ts'
import { respondedBy, takeMarkers } from '../call-state.ts'
import { PushOutlet, type PushPosition, withComments } from '../emit/event-outlets.ts'
import { checkPushedVerdict } from '../request/verdicts.ts'
import { eventFrame } from './batch-events.ts'
import { EventChannel, sentEvent } from './event-channel.ts'
import { PushOrder } from './push-order.ts'
import type { MessagePlanner } from './server-messages.ts'
import { TimedFramer } from './sse-source.ts'

/** Shared, because thousands of streams are open, mostly without calls that have faults. */
const NONE: readonly never[] = []

/** Holds the open streams of one session, and its calls whose faults await a response. */
export class PushSession {
  readonly key: string
  readonly streams: PushChannel[] = []
  calls: readonly CallInjection[] = NONE

  constructor(key: string) {
    this.key = key
  }

  remove(own: CallInjection): void {
    this.calls = this.calls.filter((each) => each !== own)
  }

  /** Returns the call of a response or a progress report, if that is certain. */
  ownerOf(message: Message | undefined): CallInjection | undefined {
    // A reused id belongs to the newer call, as in the table of in-flight requests.
    if (isResponse(message)) return this.calls.findLast(({ call }) => call!.id === message.id)
    const token = progressTokenOf(message)
    if (token === undefined) return undefined
    const owners = this.calls.filter(({ call }) => call!.progressToken === token)
    return owners.length === 1 ? owners[0] : undefined
  }
}

/** The sessions with streams. */
export interface PushSessions {
  /** Events of more bytes pass unread, and faults hold at most as much of one stream. */
  readonly maxEvent: number
  /** The time for which a partial event is held, in milliseconds. */
  readonly holdTimeout: number
  /** Assigns a stream to its session. */
  join(key: string, stream: PushChannel): PushSession
  /** Removes an ended stream. */
  leave(session: PushSession, stream: PushChannel): void
}

/** The client of a stream, and the way back to the upstream. */
export interface PushClient {
  readonly sink: ResponseSink
  readonly position: PushPosition
  /** Posts to the upstream, by default at the request's own target. */
  readonly post: (text: string, target: string | undefined) => void
}

/** A call whose events go through its faults. */
interface Carried {
  readonly own: CallInjection
  readonly chain: FrameChain
  /** True when the faults ended before the response: later events are dropped. */
  spent: boolean
  /** Called when all frames have left the chain. */
  done: (() => void) | undefined
}

/**
 * Takes the events of a stream through faults to the client. Bytes pass at once, also parts of
 * events. Only while faults await an event the stream is read event by event: events of calls with
 * faults go through their chains, all others pass when they are complete.
 */
export abstract class PushChannel extends EventChannel {
  /** True for the stream of HTTP+SSE, which announced its endpoint. */
  announced = false
  /** False when the events cannot be read. */
  readable = false
  protected readonly client: PushClient
  protected hasEnded = false
  readonly #sessions: PushSessions
  readonly #messages: MessagePlanner | undefined
  readonly #outlet: PushOutlet
  #session: PushSession | undefined
  #order: PushOrder | undefined
  #carried: readonly Carried[] = NONE
  /** The call whose event is being sent. */
  #sending: CallInjection | undefined
  /** Set while the stream is read event by event. */
  #framer: TimedFramer | undefined
  #busy = false
  #paused = false
  #ending = false

  constructor(sessions: PushSessions, messages: MessagePlanner | undefined, client: PushClient) {
    super()
    this.#sessions = sessions
    this.#messages = messages
    this.client = client
    this.#outlet = new PushOutlet(client.sink, client.position)
  }

  /** Ends the stream for a fault. */
  abstract cut(how: Cut): void

  protected abstract resumeUpstream(): void

  /** Assigns the stream to its session. */
  join(key: string, announced: boolean): void {
    if (this.hasEnded || key === '') return
    if (this.#session !== undefined) this.#sessions.leave(this.#session, this)
    this.announced = announced
    this.#session = this.#sessions.join(key, this)
    this.update()
  }

  /** Takes bytes of the upstream; false asks for a pause. */
  protected takeBytes(chunk: Uint8Array): boolean {
    // A reload may have brought a rule about messages of the server.
    if (this.#messages?.isActive === true) this.update()
    this.#busy = true
    const framer = this.#framer
    if (framer === undefined) this.#outlet.write(chunk)
    else this.#outlet.joined(() => framer.push(chunk))
    this.#busy = false
    this.update()
    this.#paused = this.#outlet.blocked || this.gate?.behind === true
    return !this.#paused
  }

  /** Continues when the client accepts data. */
  protected drained(): void {
    this.#outlet.open()
    this.continued()
  }

  /** Sends whole events between two of the upstream's; returns false when that is impossible. */
  send(bytes: Uint8Array, begin: () => void): boolean {
    if (this.hasEnded || !this.readable || !this.#outlet.offer(bytes, begin)) return false
    this.update()
    return true
  }

  /** Ends the chain of a settled call, whose last event may be being sent; false without one. */
  release(own: CallInjection, done: () => void): boolean {
    const carried = this.#carriedOf(own)
    if (carried === undefined) return false
    carried.chain.close()
    if (carried.spent) {
      this.#forget(carried)
      done()
      return true
    }
    carried.done = done
    // Frames behind the response are still sent; held frames are released.
    if (this.#sending !== own) own.stop.abort()
    return true
  }

  /** Starts or stops reading the stream event by event, as needed. */
  update(): void {
    if (this.#busy || this.hasEnded || !this.readable) return
    const wanted =
      (this.#session?.calls.length ?? 0) > 0 ||
      this.#isActive ||
      this.#messages?.isActive === true ||
      this.gate?.active === true ||
      this.#outlet.waits
    if (wanted === (this.#framer !== undefined)) return
    if (wanted && !this.#ending) {
      this.#framer = new TimedFramer(
        this.client.position.fork(),
        this.#sessions.holdTimeout,
        (frame) => this.#read(frame),
        () => this.#paused,
      )
    } else this.#endFramer()
  }

  /** Ends the stream with the upstream's. With `wake` held events are sent at once. */
  protected finish(wake: boolean, last: () => void): void {
    if (this.hasEnded || this.#ending) return
    this.#ending = true
    const { gate } = this
    const isWhole = (): boolean => this.client.position.between
    const finishChains = (): void => {
      // No event can follow an incomplete one.
      if (!isWhole()) this.#drop()
      const running = this.#isActive ? this.#finishChains(wake) : undefined
      if (running === undefined) this.#leave(last)
      else void running.then(() => this.#leave(last))
    }
    if (gate?.active !== true) return finishChains()
    if (wake || !isWhole()) gate.wake()
    gate.close()
    void gate.done.then(finishChains)
  }

  /** Drops what is held after the client has left. */
  protected close(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.#framer?.end()
    this.#framer = undefined
    this.gate?.drop()
    this.#drop()
    this.#outlet.drop()
    if (this.#session !== undefined) this.#sessions.leave(this.#session, this)
  }

  protected override readonly continued = (): void => {
    if (!this.#paused || this.#outlet.blocked || this.gate?.behind === true) return
    this.#paused = false
    this.resumeUpstream()
  }

  protected override readonly batch = {
    isOwn: (message: Message) => this.#session?.ownerOf(message) !== undefined,
    ends: () => false,
  }

  protected override passed(frame: ChainFrame): Promise<void> | undefined {
    if (this.hasEnded) return undefined
    if (frame.kind === 'sealed') {
      this.#pass(frame)
      this.#outlet.flush()
      return this.#outlet.ready()
    }
    if (this.gate !== undefined) return this.#outlet.between(() => this.#route(frame))
    this.#route(frame)
    return undefined
  }

  #read(frame: SseFrame): void {
    const messages = this.#messages
    if (messages?.isActive === true && this.gate === undefined) this.#openGate(messages)
    const { raw, oversized } = frame
    if (oversized) this.push({ kind: 'sealed', raw, eventId: frame.id })
    else this.push(eventFrame(frame, readEvent(frame), this.batch))
  }

  #openGate(messages: MessagePlanner): void {
    this.openGate({
      plan: (message) => messages.plan(message, undefined, this.#session?.key),
      onIdle: () => this.update(),
      // Other messages and responses come on the stream.
      uncut: 'shared_stream',
      cut: (how) => this.cut(how),
      post: (text) => this.client.post(text, this.announced ? this.#session?.key : undefined),
      memory: messages.memory,
    })
  }

  /** Sends bytes as they come again, and first those of an incomplete event. */
  #endFramer(): void {
    const rest = this.#framer?.end()
    this.#framer = undefined
    if (rest !== undefined) this.#outlet.write(rest)
  }

  #leave(last: () => void): void {
    if (this.hasEnded) return
    this.#endFramer()
    this.#outlet.flush(true)
    this.close()
    last()
  }

  /** Passes an event to the chain of its call. */
  #route(frame: ChainFrame): void {
    const own = this.#session?.ownerOf(frame.message)
    if (own === undefined) this.#pass(frame)
    else this.#take(own, frame)
    this.#outlet.flush()
  }

  #take(own: CallInjection, { raw, eventId, message }: ChainFrame): void {
    const carried = this.#carriedOf(own) ?? this.#begin(own)
    const { chain, spent } = carried
    const last = isResponse(message)
    if (last) {
      own.upstreamResponse = message
      noteResponse(own.context.exchange.entries, own.call)
      // Events behind the response are not for the call's faults.
      this.#session!.remove(own)
    }
    if (spent) {
      if (!last) return
      this.#forget(carried)
      respondedBy(own, undefined)
      return
    }
    if (eventId !== undefined) (this.#order ??= new PushOrder()).hold(raw, own)
    chain.push(upstreamFrame('event', raw, message, last, eventId))
    if (last) chain.close()
    else if (chain.size > this.#sessions.maxEvent) release(own)
  }

  /** Sends an event without a chain. */
  #pass({ raw, eventId }: ChainFrame): void {
    const outlet = this.#outlet
    const order = this.#order
    if (eventId === undefined || order?.holds !== true) {
      outlet.write(raw)
      return
    }
    order.follow(raw, () => void outlet.between(() => outlet.write(raw)))
    if (order.waiting > this.#sessions.maxEvent) for (const { own } of this.#carried) release(own)
  }

  /** True while events of calls are held. */
  get #isActive(): boolean {
    return this.#order?.holds === true || this.#carried.some(({ spent }) => !spent)
  }

  #carriedOf(own: CallInjection): Carried | undefined {
    return this.#carried.find((each) => each.own === own)
  }

  #begin(own: CallInjection): Carried {
    const check = (verdict: Verdict) => checkPushedVerdict(own.call!, verdict)
    const onward = (frame: ChainFrame) => this.#emit(own, frame)
    const chain = new FrameChain(own, check, onward, () => undefined, 'shared_stream')
    const carried: Carried = { own, chain, spent: false, done: undefined }
    this.#carried = [...this.#carried, carried]
    const ended = (): void => this.#chainEnded(carried)
    chain.done.then(ended, ended)
    return carried
  }

  #chainEnded(carried: Carried): void {
    const { own, done } = carried
    if (!this.#carried.includes(carried)) return
    if (done === undefined && own.upstreamResponse === undefined) carried.spent = true
    else this.#forget(carried)
    this.#order?.forget(own)
    done?.()
    this.update()
  }

  #forget(carried: Carried): void {
    // Another response comes only on a stream that the client resumes, without the faults.
    carried.own.lost = undefined
    this.#carried = this.#carried.filter((each) => each !== carried)
  }

  /** Ends all chains; resolves when all frames have left, which is at once after `wake`. */
  async #finishChains(wake: boolean): Promise<void> {
    for (const { own, chain } of this.#carried) {
      chain.close()
      if (wake) own.stop.abort()
    }
    const running = this.#carried.filter(({ spent }) => !spent)
    await Promise.allSettled(running.map(({ chain }) => chain.done))
  }

  /** Drops all chains. */
  #drop(): void {
    const carried = this.#carried
    this.#carried = NONE
    for (const { own, chain, done } of carried) {
      chain.drop()
      this.#order?.forget(own)
      if (done === undefined) own.lost?.()
      else done()
    }
  }

  #emit(own: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    const order = this.#order?.wait(frame.raw)
    return order === undefined ? this.#send(own, frame) : order.then(() => this.#send(own, frame))
  }

  /** Sends an event of a call between two others. */
  #send(own: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    if (this.#carriedOf(own) === undefined) return undefined
    return this.#outlet.between(() => {
      if (this.#carriedOf(own) === undefined) return
      const before = this.#sending
      this.#sending = own
      const markers = takeMarkers(own)
      for (const bytes of withComments(sentEvent(own, frame, true), markers))
        this.#outlet.write(bytes)
      this.#sending = before
      this.#order?.out(frame.raw)
    })
  }
}

/** Releases what the faults of a call hold, because it is too much. */
function release(own: CallInjection): void {
  leave(own, 'messages', 'too_large')
  own.stop.abort()
}
