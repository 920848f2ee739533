import type { Verdict } from '../../../filters/fault.ts'
import { asSseEvent } from '../../../mcp/reply.ts'
import { parseSseFields } from '../../../mcp/sse-fields.ts'
import { FrameChain } from '../chain/fault-chain.ts'
import { markerComments, replyMessage } from '../emit/injected-response.ts'
import { upstreamFrame, type ChainFrame } from '../chain/frame.ts'
import type { PushOutlet } from '../emit/event-outlets.ts'
import { type PushedCall, leave } from '../call-injection.ts'
import { move, respondedBy, takeMarkers } from '../call-state.ts'
import { PushOrder } from './push-order.ts'
import { checkPushedVerdict } from '../request/verdicts.ts'

interface Carried {
  readonly chain: FrameChain
  /** True when the faults ended before the response: later events are dropped. */
  spent: boolean
  /** Called when all frames have left the chain. */
  done: (() => void) | undefined
}

/** Runs the chains of one stream: one for each call with faults. */
export class PushChains {
  readonly #outlet: PushOutlet
  readonly #limit: number
  /** Called when a chain has ended. */
  readonly #ended: () => void
  readonly #order = new PushOrder()
  readonly #carried = new Map<PushedCall, Carried>()
  /** The call whose event is being sent. */
  #sending: PushedCall | undefined

  /** A chain holds at most `limit` bytes. */
  constructor(outlet: PushOutlet, limit: number, ended: () => void) {
    this.#outlet = outlet
    this.#limit = limit
    this.#ended = ended
  }

  /** True while events are held. */
  get active(): boolean {
    return this.#order.holds || this.#running.length > 0
  }

  carries(pushed: PushedCall): boolean {
    return this.#carried.has(pushed)
  }

  /** Passes an event to the chain of its call; returns true for the last event. */
  push(pushed: PushedCall, { raw, eventId, message }: ChainFrame): boolean {
    const { own } = pushed
    const { chain, spent } = this.#carried.get(pushed) ?? this.#begin(pushed)
    const last = message?.kind === 'result' || message?.kind === 'error'
    if (last) {
      own.upstreamResponse = message
      own.context.exchange.onResponded?.(own.call)
    }
    if (spent) {
      if (last) this.#carried.delete(pushed)
      if (last) respondedBy(own, undefined)
      return last
    }
    if (eventId !== undefined) this.#order.hold(raw, pushed)
    chain.push(upstreamFrame('event', raw, message, last, eventId))
    if (last) chain.close()
    else if (chain.size > this.#limit) this.#release(pushed)
    return last
  }

  /** Sends an event without a chain. */
  pass({ raw, eventId }: ChainFrame): void {
    if (eventId === undefined || !this.#order.holds) {
      this.#outlet.write(raw)
      return
    }
    this.#order.follow(raw, () => void this.#outlet.between(() => this.#outlet.write(raw)))
    if (this.#order.waiting > this.#limit)
      for (const each of this.#carried.keys()) this.#release(each)
  }

  /** Ends the chain of a settled call, whose last event may be being sent. */
  release(pushed: PushedCall, done: () => void): void {
    const carried = this.#carried.get(pushed)
    if (carried === undefined) {
      done()
      return
    }
    carried.chain.close()
    if (carried.spent) {
      this.#carried.delete(pushed)
      done()
      return
    }
    carried.done = done
    // Frames behind the response are still sent; held frames are released.
    if (this.#sending !== pushed) pushed.stop.abort()
  }

  /** Ends all chains; resolves when all frames have left, which is at once after `wake`. */
  async finish(wake: boolean): Promise<void> {
    for (const [pushed, { chain }] of this.#carried) {
      chain.close()
      if (wake) pushed.stop.abort()
    }
    await Promise.allSettled(this.#running.map(({ chain }) => chain.done))
  }

  /** Drops all chains after the client has left. */
  drop(): void {
    const carried = [...this.#carried]
    this.#carried.clear()
    for (const [pushed, { chain, done }] of carried) {
      chain.drop()
      this.#order.forget(pushed)
      if (done === undefined) pushed.lost()
      else done()
    }
  }

  get #running(): readonly Carried[] {
    return [...this.#carried.values()].filter(({ spent }) => !spent)
  }

  #begin(pushed: PushedCall): Carried {
    const onward = (frame: ChainFrame): Promise<void> | undefined => this.#emit(pushed, frame)
    const { own } = pushed
    const check = (verdict: Verdict) => checkPushedVerdict(own.call!, verdict)
    const chain = new FrameChain(own, check, onward, () => undefined, 'shared_stream')
    const carried: Carried = { chain, spent: false, done: undefined }
    this.#carried.set(pushed, carried)
    const ended = (): void => this.#chainEnded(pushed, carried)
    chain.done.then(ended, ended)
    return carried
  }

  /** Releases a chain that would hold too much. */
  #release(pushed: PushedCall): void {
    leave(pushed.own, 'messages', 'too_large')
    pushed.stop.abort()
  }

  #chainEnded(pushed: PushedCall, carried: Carried): void {
    if (this.#carried.get(pushed) !== carried) return
    const { done } = carried
    if (done === undefined && pushed.own.upstreamResponse === undefined) carried.spent = true
    else this.#carried.delete(pushed)
    this.#order.forget(pushed)
    done?.()
    this.#ended()
  }

  #emit(pushed: PushedCall, frame: ChainFrame): Promise<void> | undefined {
    const order = this.#order.wait(frame.raw)
    if (order !== undefined) return order.then(() => this.#send(pushed, frame))
    return this.#send(pushed, frame)
  }

  #send(pushed: PushedCall, frame: ChainFrame): Promise<void> | undefined {
    if (!this.#carried.has(pushed)) return undefined
    return this.#outlet.between(() => {
      if (!this.#carried.has(pushed)) return
      const before = this.#sending
      this.#sending = pushed
      this.#outlet.write(this.#bytes(pushed, frame))
      this.#sending = before
      this.#order.out(frame.raw)
    })
  }

  #bytes({ own }: PushedCall, frame: ChainFrame): Uint8Array {
    const markers = takeMarkers(own)
    let bytes = frame.raw
    if (frame.reply !== undefined && frame.reply.kind !== 'http') {
      move(own, 'replaces')
      const event = asSseEvent(replyMessage(frame.reply, own.call!)).bytes
      bytes = Buffer.concat([fieldsOfStream(frame.raw), event])
    } else if (frame.last === true) {
      respondedBy(own, frame.message)
    }
    return markers.length > 0 ? Buffer.concat([markerComments(markers), bytes]) : bytes
  }
}

/** Returns the id and retry fields of an event, which a replacement must keep. */
function fieldsOfStream(raw: Uint8Array): Buffer {
  const { id, retry } = parseSseFields(Buffer.from(raw), false)
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}\n`]),
    ...(retry === undefined ? [] : [`retry: ${retry}\n`]),
  ]
  return Buffer.from(lines.join(''))
}
