import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Verdict } from '../../../filters/fault.ts'
import { frameText } from '../../../filters/lib/json/frame-json.ts'
import type { ByteBudget } from '../../../base/byte-budget.ts'
import type { Call } from '../../../mcp/call.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import type { Cut } from '../../exchange.ts'
import { type CallInjection, closeInjection, leave } from '../call-injection.ts'
import { type StreamPosition, takeMarkers } from '../call-state.ts'
import type { OnFrame } from '../chain/fault-chain.ts'
import { takeCopies } from '../request/copies.ts'
import { checkServerVerdict } from '../../../rules/select/verdict-checks.ts'
import { pipedMessage } from '../request/single-messages.ts'
import { type UpstreamFrame, type ChainFrame, FrameQueue, isOpen } from '../chain/frame.ts'
import { Stop, interruptibleWait } from '../chain/stop.ts'
import { markerComments, replyMessage } from '../emit/injected-response.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { type BatchReader, eventOf, eventsOf } from './batch-events.ts'

/** A notification or request of the server. */
export type ServerMessage = Extract<Message, { readonly kind: 'notification' | 'request' }>

/** Plans the faults of the messages that the server sends on one connection. */
export interface MessagePlanner {
  /** True while a rule needs the messages of the server. */
  readonly isActive: boolean
  /** Counts held messages. */
  readonly memory: ByteBudget
  /**
   * Plans the faults of a message; undefined when no rule matches. `of` is the call to which it
   * belongs, if known, and `session` the key of the stream's session, by default that of the request.
   */
  plan(message: ServerMessage, of: Call | undefined, session?: string): CallInjection | undefined
}

/** Connects the gate with its stream. */
export interface MessageGateOptions {
  /** Plans the faults of a message; undefined when no rule matches. */
  readonly plan: (message: ServerMessage) => CallInjection | undefined
  /** Pipes a response that asks the client for input; undefined for other frames. */
  readonly asked?: (frame: ChainFrame) => Promise<readonly ChainFrame[]> | undefined
  readonly batch: BatchReader
  readonly onFrame: OnFrame
  readonly onDrain: () => void
  /** Called when no frame is held any more. */
  readonly onIdle?: () => void
  /** The reason for which no fault may cut the stream, if any. */
  readonly uncut: NotApplicableReason | undefined
  readonly cut: (how: Cut) => void
  /** Sends the upstream a message as if the client had posted it. */
  readonly post: (text: string) => void
  /** Counts held messages; false asks to hold no more. */
  readonly memory: ByteBudget
}

/** A frame, and the faults of its message, if rules match it. */
interface Planned {
  readonly frame: ChainFrame
  readonly faults?: CallInjection | undefined
}

/** The most messages that wait outside of the order of one stream. */
const MAX_LATE = 1000

/**
 * Pipes the events of a stream in order, and the notifications and requests that rules match
 * through their faults. While a fault delays a message, later events overtake it.
 */
export class MessageGate extends FrameQueue {
  /** Resolves when all frames have left. */
  readonly done: Promise<void>
  readonly #options: MessageGateOptions
  readonly #late = new Map<CallInjection, Promise<void>>()
  /** The messages that wait for the next one. */
  readonly #behind: CallInjection[] = []
  #isBusy = false
  #isEnding = false

  constructor(options: MessageGateOptions) {
    super(options.onDrain, options.memory)
    this.#options = options
    this.done = this.#run()
  }

  /** True while frames are held. */
  get active(): boolean {
    return this.size > 0 || this.#isBusy || this.#late.size > 0
  }

  /** Stops all faults: delayed messages are sent now. */
  wake(): void {
    for (const own of this.#behind.splice(0)) endWait(own, false)
    for (const { stop } of this.#late.keys()) stop.abort()
  }

  override drop(): void {
    super.drop()
    this.wake()
  }

  async #run(): Promise<void> {
    for (let step = await this.next(); step.done !== true; step = await this.next()) {
      this.#isBusy = true
      for (const { frame, faults } of this.#planned(step.value)) {
        const waiting = this.#behind.splice(0)
        const overtakes = waiting.length > 0
        if (faults !== undefined) faults.position = this.#position(overtakes)
        const sent = faults === undefined ? this.#pass(frame) : this.#begin(faults, frame)
        if (sent !== undefined) await sent
        const isPassed = faults?.hasWaited !== true && hasMessage(frame)
        if (!isPassed) this.#behind.unshift(...waiting)
        else for (const own of waiting) await this.#follow(own)
      }
      this.#isBusy = false
      if (!this.active) this.#options.onIdle?.()
    }
    // The stream ends when delayed messages are sent; hanging ones are never sent.
    this.#isEnding = true
    for (const { hangs, stop } of this.#late.keys()) if (hangs) stop.abort()
    for (const own of this.#behind.splice(0)) endWait(own, false)
    await Promise.all(this.#late.values())
  }

  /** Sends a frame that is not a message of the server. */
  #pass(frame: ChainFrame): Promise<void> | undefined {
    const { asked, onFrame } = this.#options
    const piping = asked?.(frame)
    if (piping === undefined) return onFrame(frame)
    const send = async (frames: readonly ChainFrame[]): Promise<void> => {
      for (const each of frames) await onFrame(each)
    }
    return piping.then(send).catch((error: unknown) => this.#failed(error))
  }

  #planned(frame: ChainFrame): readonly Planned[] {
    if (!isOpen(frame)) return [{ frame }]
    const { message } = frame
    if (message !== undefined) return [{ frame, faults: this.#plan(message) }]
    const plans = new Map<Message, CallInjection | undefined>()
    const isOwn = (each: Message): boolean => {
      const faults = this.#plan(each)
      plans.set(each, faults)
      return faults !== undefined || this.#options.batch.isOwn(each)
    }
    return eventsOf(frame, { ...this.#options.batch, isOwn }).map((part) => ({
      frame: part,
      faults: part.message && plans.get(part.message),
    }))
  }

  #plan(message: Message): CallInjection | undefined {
    if (message.kind !== 'notification' && message.kind !== 'request') return undefined
    const faults = this.#options.plan(message)
    if (faults === undefined || this.#late.size < MAX_LATE) return faults
    leave(faults, 'all', 'memory')
    closeInjection(faults)
    return undefined
  }

  /** Starts the faults of a message; resolves when it has left, or others may overtake it. */
  #begin(faults: CallInjection, frame: ChainFrame): Promise<void> {
    const waits = new Promise<void>((resolve) => (faults.waiting = resolve))
    if (!this.#options.memory.take(frame.raw.length)) this.wake()
    const whole = this.#pipe(faults, frame as UpstreamFrame).finally(() => {
      this.#options.memory.give(frame.raw.length)
      this.#late.delete(faults)
      closeInjection(faults)
      if (!this.active) this.#options.onIdle?.()
    })
    this.#late.set(faults, whole)
    return Promise.race([whole, waits])
  }

  /** Lets a message leave behind the one that passed; resolves when it has left, or waits again. */
  #follow(faults: CallInjection): Promise<void> {
    const waits = new Promise<void>((resolve) => (faults.waiting = resolve))
    endWait(faults, true)
    return Promise.race([this.#late.get(faults), waits])
  }

  #position(overtakes: boolean): StreamPosition {
    return { overtakes, isOvertaken: false, behind: this.#behind, ended: new Stop() }
  }

  async #pipe(faults: CallInjection, original: UpstreamFrame): Promise<void> {
    const { uncut } = this.#options
    const check = (verdict: Verdict) => checkServerVerdict(faults.call!, verdict, uncut)
    let out: readonly ChainFrame[]
    try {
      out = await pipedMessage(faults, original, check, uncut)
    } catch (error) {
      this.#failed(error)
      return
    }
    if (faults.hangs && this.#isEnding) return
    if (out.length === 0) await this.#mark(faults)
    for (const each of out) await this.#send(faults, each)
    await this.#repeat(faults, out)
  }

  #failed(error: unknown): void {
    if (!(error instanceof CutResponse)) throw error
    this.#options.cut(error.how)
  }

  /** Sends a message, or its replacement. */
  async #send(faults: CallInjection, frame: ChainFrame): Promise<void> {
    if (frame.reply !== undefined) this.#respond(faults, frame)
    else {
      await this.#mark(faults)
      await this.#options.onFrame(isOpen(frame) ? notLast(frame, faults.hasWaited) : frame)
    }
  }

  /** Sends the copies of a message that faults have ordered. */
  async #repeat(faults: CallInjection, frames: readonly ChainFrame[]): Promise<void> {
    for (const { active, copies, spacing } of takeCopies(faults)) {
      for (let n = 0; n < copies && !faults.stop.aborted; n++) {
        await interruptibleWait(spacing, active.withdrawn, faults.stop).catch(() => undefined)
        if (active.withdrawn.aborted) break
        active.settle()
        for (const frame of frames) await this.#send(faults, frame)
      }
    }
  }

  /** Answers a request of the server in place of the client. */
  #respond(faults: CallInjection, { reply }: ChainFrame): void {
    void this.#mark(faults)
    if (reply === undefined || reply.kind === 'http') return
    this.#options.post(JSON.stringify(replyMessage(reply, faults.call!)))
  }

  #mark(faults: CallInjection): Promise<void> | undefined {
    const markers = takeMarkers(faults)
    if (markers.length === 0) return undefined
    return this.#options.onFrame({ kind: 'quiet', raw: markerComments(markers) })
  }
}

/** Ends the wait of a message for the next one. */
function endWait({ position }: CallInjection, isOvertaken: boolean): void {
  position!.isOvertaken = isOvertaken
  position!.ended.abort()
}

function hasMessage(frame: ChainFrame): boolean {
  return (frame.message ?? frame.batch) !== undefined
}

/**
 * Returns the frame as one that ends no call. The id of a message that was overtaken is removed: a
 * client that resumes the stream names the last id that it saw.
 */
function notLast(frame: UpstreamFrame, isLate: boolean): ChainFrame {
  const { eventId, ...rest } = frame
  const text = isLate && eventId !== undefined ? frameText(rest) : undefined
  if (text === undefined) return { ...frame, last: false }
  return { ...rest, raw: eventOf(text), last: false, eventId: undefined }
}
