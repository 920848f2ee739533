import type { Message } from '../../../mcp/json-rpc.ts'
import { asSseEvent } from '../../../mcp/reply.ts'
import { parseSseFields } from '../../../mcp/sse-fields.ts'
import type { SseFrame } from '../../../mcp/sse-framer.ts'
import { FrameChain } from '../chain/frame-chain.ts'
import { markComments } from '../emit/fault-marker.ts'
import { replyMessage } from '../emit/injected-response.ts'
import { AppFrame, isOpen, SealedFrame, type ChainFrame } from '../chain/frame.ts'
import { PushOrder } from './push-order.ts'
import type { PushOutlet } from '../emit/push-outlet.ts'
import type { PushedCall } from './pushed-call.ts'

interface Carried {
  readonly lane: FrameChain
  /** Its faults have ended it before the response was there: what follows is not to be sent. */
  spent: boolean
  /** Told when everything is out. */
  done: (() => void) | undefined
}

/** The lanes of one stream: one for each call whose events faults are about. */
export class PushChains {
  readonly #outlet: PushOutlet
  readonly #limit: number
  /** Told when a lane has ended. */
  readonly #ended: () => void
  readonly #order = new PushOrder()
  readonly #carried = new Map<PushedCall, Carried>()
  /** Whose event is being sent at this moment. */
  #sending: PushedCall | undefined

  /** No lane lets more than `limit` bytes wait. */
  constructor(outlet: PushOutlet, limit: number, ended: () => void) {
    this.#outlet = outlet
    this.#limit = limit
    this.#ended = ended
  }

  /** True while anything is held. */
  get active(): boolean {
    return this.#order.holds || this.#running.length > 0
  }

  carries(pushed: PushedCall): boolean {
    return this.#carried.has(pushed)
  }

  /** Takes an event of a call. True when it is the last. */
  push(pushed: PushedCall, { raw, id }: SseFrame, message: Message | undefined): boolean {
    const { lane, spent } = this.#carried.get(pushed) ?? this.#begin(pushed)
    const last = message?.kind === 'result' || message?.kind === 'error'
    if (last) {
      pushed.run.appResponse = message
      pushed.responded()
    }
    if (spent) {
      if (last) this.#carried.delete(pushed)
      if (last) pushed.run.respondedBy(undefined)
      return last
    }
    if (id !== undefined) this.#order.hold(raw, pushed)
    lane.push(new AppFrame('event', raw, message, last, id))
    if (last) lane.close()
    else if (lane.size > this.#limit) this.#leave(pushed)
    return last
  }

  /** Passes what belongs to no lane. */
  pass({ raw, id }: SseFrame): void {
    if (id === undefined || !this.#order.holds) {
      this.#outlet.write(raw)
      return
    }
    this.#order.follow(raw, () => void this.#outlet.between(() => this.#outlet.write(raw)))
    if (this.#order.waiting > this.#limit)
      for (const each of this.#carried.keys()) this.#leave(each)
  }

  /** A call has ended: by the event that is being sent, or otherwise. */
  release(pushed: PushedCall, done: () => void): void {
    const carried = this.#carried.get(pushed)
    if (carried === undefined) {
      done()
      return
    }
    carried.lane.close()
    if (carried.spent) {
      this.#carried.delete(pushed)
      done()
      return
    }
    carried.done = done
    // What a fault means to send behind the response is sent; what it holds for nobody is let go.
    if (this.#sending !== pushed) pushed.wake()
  }

  /** Nothing more comes. Resolves when everything is out, which is at once after `wake`. */
  async finish(wake: boolean): Promise<void> {
    for (const [pushed, { lane }] of this.#carried) {
      lane.close()
      if (wake) pushed.wake()
    }
    await Promise.allSettled(this.#running.map(({ lane }) => lane.done))
  }

  /** Nobody takes anything any more. */
  drop(): void {
    const carried = [...this.#carried]
    this.#carried.clear()
    for (const [pushed, { lane, done }] of carried) {
      lane.drop()
      this.#order.over(pushed)
      if (done === undefined) pushed.lost()
      else done()
    }
  }

  get #running(): readonly Carried[] {
    return [...this.#carried.values()].filter(({ spent }) => !spent)
  }

  #begin(pushed: PushedCall): Carried {
    const onward = (frame: ChainFrame): Promise<void> | undefined => this.#emit(pushed, frame)
    const lane = new FrameChain(pushed.run, pushed.check, onward, () => undefined, 'shared_stream')
    const carried: Carried = { lane, spent: false, done: undefined }
    this.#carried.set(pushed, carried)
    const over = (): void => this.#over(pushed, carried)
    lane.done.then(over, over)
    return carried
  }

  /** More would be held than memory is to pay for. */
  #leave(pushed: PushedCall): void {
    pushed.run.leaveResponse('too_large')
    pushed.wake()
  }

  #over(pushed: PushedCall, carried: Carried): void {
    if (this.#carried.get(pushed) !== carried) return
    const { done } = carried
    if (done === undefined && pushed.run.appResponse === undefined) carried.spent = true
    else this.#carried.delete(pushed)
    this.#order.over(pushed)
    done?.()
    this.#ended()
  }

  #emit(pushed: PushedCall, frame: ChainFrame): Promise<void> | undefined {
    const turn = this.#order.turn(frame.raw)
    if (turn !== undefined) return turn.then(() => this.#send(pushed, frame))
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

  #bytes({ run, call }: PushedCall, frame: ChainFrame): Uint8Array {
    const markers = run.takeMarks()
    let bytes = frame.raw
    if (frame instanceof SealedFrame && frame.reply !== undefined && frame.reply.kind !== 'http') {
      run.madeOutcome = true
      run.responded = true
      const event = asSseEvent(replyMessage(frame.reply, call)).bytes
      bytes = Buffer.concat([fieldsOfStream(frame.raw), event])
    } else if (isOpen(frame) && frame.last) {
      run.respondedBy(frame.message)
    }
    return markers.length > 0 ? Buffer.concat([markComments(markers), bytes]) : bytes
  }
}

/** What an event says about the stream and not about its call: a message in its place keeps it. */
function fieldsOfStream(raw: Uint8Array): Buffer {
  const { id, retry } = parseSseFields(Buffer.from(raw), false)
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}\n`]),
    ...(retry === undefined ? [] : [`retry: ${retry}\n`]),
  ]
  return Buffer.from(lines.join(''))
}
