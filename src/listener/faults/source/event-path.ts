import type { Verdict } from '../../../filters/fault.ts'
import { readEvent } from '../../../mcp/event-message.ts'
import { MAX_MESSAGES, type Message } from '../../../mcp/json-rpc.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import { hasNoFields } from '../../../mcp/sse-fields.ts'
import type { SseFrame } from '../../../mcp/sse-framer.ts'
import type { Cut } from '../../exchange.ts'
import { type CallInjection, actsOnResponse } from '../call-injection.ts'
import { respondedBy } from '../call-state.ts'
import { FrameChain, type OnFrame } from '../chain/fault-chain.ts'
import {
  type UpstreamFrame,
  upstreamFrame,
  type ChainFrame,
  isOpen,
  QuietFrame,
  SealedFrame,
} from '../chain/frame.ts'
import { checkStreamVerdict } from '../request/verdicts.ts'
import { type BatchReader, eventsOf } from './batch-events.ts'
import type { ResponseContext } from './response-part.ts'
import { pipeInputRequests } from './input-requests.ts'
import { MessageGate } from './server-messages.ts'
import { endedBy, ownerOf } from './sse-feed.ts'

/** Connects the path of events with their stream. */
export interface EventPathEnds {
  /** Returns true when the client has the head of the response. */
  readonly isHeadSent: () => boolean
  /** Sends a frame that belongs to this call or exchange. */
  readonly emit: (owner: CallInjection, frame: ChainFrame) => Promise<void> | undefined
  readonly onDrain: () => void
  /** Called when faults have dropped the rest of the response. */
  readonly onEnd: () => void
  readonly onError: (error: unknown) => void
  readonly cut: (how: Cut) => void
}

/**
 * Takes the events of one response through its faults: those of the server's messages, those of the
 * exchange, and those of the call to which an event belongs. Events without faults are emitted at
 * once.
 */
export class EventPath {
  readonly #context: ResponseContext
  readonly #ends: EventPathEnds
  readonly #gate: MessageGate | undefined
  readonly #exchange: FrameChain | undefined
  readonly #calls = new Map<CallInjection, FrameChain>()
  readonly #all: readonly FrameChain[]
  #isClosing = false

  constructor(context: ResponseContext, ends: EventPathEnds) {
    const { faults } = context
    this.#context = context
    this.#ends = ends
    const { exchange } = faults
    if (actsOnResponse(exchange)) {
      this.#exchange = this.#chainOf(exchange, (frame) => this.#route(exchange, frame))
    }
    for (const call of faults.calls) {
      if (!actsOnResponse(call)) continue
      this.#calls.set(
        call,
        this.#chainOf(call, (frame) => ends.emit(call, frame)),
      )
    }
    const chains = [...this.#calls.values()]
    this.#all = this.#exchange === undefined ? chains : [this.#exchange, ...chains]
    this.#gate = this.#createGate()
    for (const chain of this.#all) {
      const holdsAll = chain === this.#exchange || !faults.shared
      chain.done.then(() => holdsAll && !this.#isClosing && ends.onEnd(), ends.onError)
    }
  }

  /** True while no more events are wanted. */
  get behind(): boolean {
    return this.#gate?.behind === true || this.#all.some(({ behind }) => behind)
  }

  /** Reads an event. */
  read(frame: SseFrame): void {
    const { faults } = this.#context
    if (frame.oversized) {
      faults.leaveResponse('too_large')
      this.#push(SealedFrame.piece(frame.raw, frame.ends))
      return
    }
    const { id } = frame
    if (id !== undefined) {
      // Clients before protocol version 2026-07-28 may resume the stream.
      for (const own of faults.calls) own.isResumable = !isModern(own.call!.protocolVersion)
    }
    const { messages, batch } = readEvent(frame)
    if (messages.length === 0 && hasNoFields(frame)) {
      this.#push(new QuietFrame(frame.raw))
      return
    }
    for (const message of messages) {
      const ended = endedBy(faults.calls, message)
      if (ended !== undefined) faults.options.onResponded?.(ended.call)
    }
    if (messages.length > MAX_MESSAGES) faults.leaveResponse('too_complex')
    const message = batch ? undefined : messages[0]
    const event = upstreamFrame('event', frame.raw, message, this.#batch.ends(message), id)
    this.#push(batch ? { ...event, batch: messages } : event)
  }

  /** Stops the faults of the server's messages, which are sent now. */
  wake(): void {
    this.#gate?.wake()
  }

  /** Announces the end of the stream, before which chains that end have dropped the rest. */
  closing(): void {
    this.#isClosing = true
  }

  /** Ends the path; resolves when all events have left, rejects when a fault cuts the response. */
  async close(): Promise<void> {
    this.#gate?.close()
    await this.#gate?.done
    for (const chain of this.#all) {
      chain.close()
      await chain.done
    }
  }

  /** Drops the events that are held. */
  drop(): void {
    this.#gate?.drop()
    for (const chain of this.#all) chain.drop()
  }

  #push(frame: UpstreamFrame | ChainFrame): void {
    if (this.#gate !== undefined) this.#gate.push(frame)
    else if (!isOpen(frame)) void this.#passed(frame)
    else for (const each of eventsOf(frame as UpstreamFrame, this.#batch)) void this.#passed(each)
  }

  /** Takes a frame from the gate. */
  #passed(frame: ChainFrame): Promise<void> | undefined {
    const chain = this.#exchange
    if (chain === undefined) return this.#route(this.#context.faults.exchange, frame)
    chain.push(frame)
    return chain.room()
  }

  #route(from: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    const { outlet, faults } = this.#context
    // After the end, another connection may carry the event.
    if (outlet.ended) return undefined
    const { batch } = frame as Partial<UpstreamFrame>
    const message = isOpen(frame) ? frame.message : undefined
    const isReply = frame instanceof SealedFrame && frame.reply !== undefined
    const owner = isReply || batch !== undefined ? undefined : ownerOf(faults.calls, message)
    if (batch !== undefined) this.#passesBatch(batch)
    if (owner === undefined) return this.#ends.emit(from, frame)
    if (isOpen(frame) && frame.last) owner.upstreamResponse = message
    const chain = this.#calls.get(owner)
    if (chain === undefined) return this.#ends.emit(owner, frame)
    chain.push(frame)
    return chain.room()
  }

  /** Records the responses of a batch on which no fault acts. */
  #passesBatch(batch: readonly Message[]): void {
    for (const message of batch) {
      const own = endedBy(this.#context.faults.calls, message)
      if (own === undefined) continue
      own.upstreamResponse = message
      respondedBy(own, message)
    }
  }

  /** The messages of a batch on which faults of calls act. */
  readonly #batch = {
    isOwn: (message: Message): boolean => {
      if (this.#exchange !== undefined) return true
      const owner = ownerOf(this.#context.faults.calls, message)
      return owner !== undefined && this.#calls.has(owner)
    },
    ends: (message: Message | undefined): boolean =>
      endedBy(this.#context.faults.calls, message) !== undefined,
  } satisfies BatchReader

  #chainOf(of: CallInjection, onFrame: OnFrame): FrameChain {
    const { shared } = this.#context.faults
    const check = (verdict: Verdict) =>
      checkStreamVerdict(of.call, verdict, shared, this.#ends.isHeadSent())
    return new FrameChain(of, check, onFrame, this.#ends.onDrain)
  }

  /** Creates the gate; undefined when no rule may be about messages of the server. */
  #createGate(): MessageGate | undefined {
    const { faults, upstream } = this.#context
    const { messagePlanner } = faults.options
    if (messagePlanner === undefined) return undefined
    return new MessageGate({
      batch: this.#batch,
      onFrame: (frame) => {
        // A reply to a request for input takes the place of the response to the only call.
        const isReply = frame instanceof SealedFrame && frame.reply !== undefined
        return isReply ? this.#ends.emit(faults.calls[0]!, frame) : this.#passed(frame)
      },
      onDrain: this.#ends.onDrain,
      cut: this.#ends.cut,
      asked: (frame) => pipeInputRequests(faults, frame),
      plan: (message) => {
        const call = ownerOf(faults.calls, message)?.call
        const disturbs = () => faults.options.disturbancesOf?.(call) ?? []
        return messagePlanner.plan(message, { call, disturbs })
      },
      uncut: faults.shared ? 'shared_exchange' : undefined,
      post: (text) => upstream.post(text),
      memory: faults.memory,
    })
  }
}
