import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Verdict } from '../../../filters/fault.ts'
import { headerValue, type HeaderLines } from '../../../http/headers.ts'
import { asSseEvent } from '../../../mcp/reply.ts'
import type { Failure } from '../../../http/transfer.ts'
import { isResponse, readEvent } from '../../../mcp/event-message.ts'
import { MAX_MESSAGES, type Message, progressTokenOf } from '../../../mcp/json-rpc.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import { noteResponse } from '../../side-faults.ts'
import { hasNoFields } from '../../../mcp/sse-fields.ts'
import { SseFramer, type SseFrame } from '../../../mcp/sse-framer.ts'
import type { ResponsePart, ResponseContext } from './response-part.ts'
import { type CallInjection, actsOnResponse } from '../call-injection.ts'
import { hasEnded, move, respondedBy, takeMarkers } from '../call-state.ts'
import { FrameChain } from '../chain/fault-chain.ts'
import { NO_FAULT } from '../exchange-context.ts'
import { hasMarkers, leaveResponse, takeAllMarkers } from '../exchange-faults.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import { type HttpReply, NOTHING, httpResponse } from '../emit/injected-response.ts'
import type { ChainFrame } from '../chain/frame.ts'
import { checkStreamVerdict } from '../../../rules/select/verdict-checks.ts'
import { eventFrame } from './batch-events.ts'
import { EventChannel, sentEvent } from './event-channel.ts'
import { pipeInputRequests } from './input-requests.ts'
import type { MessagePlanner } from './server-messages.ts'
import { SseSource } from './sse-source.ts'
import { SseOutlet } from '../emit/event-outlets.ts'

/**
 * Takes the events of a streamed response through faults to the client. Those of the exchange
 * precede those of the call to which an event belongs.
 */
export class SseResponse extends EventChannel implements ResponsePart {
  readonly #context: ResponseContext
  readonly #out: SseOutlet
  readonly #source: SseSource
  /** The chain of the exchange, then those of its calls, where faults act on the response. */
  readonly #chains = new Map<CallInjection, FrameChain>()
  #isClosing = false
  /** True once a status takes the place of the stream, with the events that chains still hold. */
  #isReplaced = false

  constructor(context: ResponseContext) {
    super()
    const { faults, outlet, head, coding, replies } = context
    this.#context = context
    const { holdTimeout } = faults.options.parts
    const { messagePlanner } = faults.planned
    const sized = headerValue(head.headers, 'content-length') !== undefined
    const same = coding === 'identity' && replies.length === 0 && !sized
    const sent = same ? head : { ...head, headers: headersForChangedBody(head.headers) }
    // Faults can replace the status while the head is held: until the upstream's first message.
    const hold = faults.all.some(({ mayReplace }) => mayReplace) ? holdTimeout : 0
    this.#out = new SseOutlet(outlet, sent, hold)
    for (const reply of replies) this.#out.send(asSseEvent(reply).bytes)
    for (const own of [faults.exchange, ...faults.calls]) if (actsOnResponse(own)) this.#open(own)
    if (messagePlanner !== undefined) this.#openGate(messagePlanner)
    this.#source = this.#createSource(holdTimeout)
  }

  data(chunk: Uint8Array): boolean {
    return this.#source.push(chunk)
  }

  end(trailers: HeaderLines): void {
    void this.#finish(() => this.#context.outlet.end(trailers))
  }

  fail(failure: Failure): void {
    const { faults, outlet, coding } = this.#context
    const fail = (): void => outlet.fail(failure)
    // A reset discards unread data, and a part of a compressed stream is useless.
    if (failure.kind === 'reset' || coding !== 'identity') {
      fail()
      this.stop()
      return
    }
    faults.disarm()
    this.gate?.wake()
    void this.#finish(fail)
  }

  resume(): void {
    this.#source.continued()
  }

  stop(): void {
    this.gate?.drop()
    for (const chain of this.#chains.values()) chain.drop()
    this.#source.drop()
    this.#out.stop()
  }

  protected override readonly continued = (): void => this.#source.continued()

  protected override readonly batch = {
    isOwn: (message: Message): boolean => {
      const { exchange, calls } = this.#context.faults
      if (this.#chains.has(exchange)) return true
      const owner = ownerOf(calls, message)
      return owner !== undefined && this.#chains.has(owner)
    },
    ends: (message: Message) => this.#endedBy(message) !== undefined,
  }

  #createSource(holdTimeout: number): SseSource {
    const { faults, upstream, coding } = this.#context
    const { memory } = faults.exchange
    const reader = {
      memory,
      out: this.#out,
      read: (frame: SseFrame) => this.#read(frame),
      failed: this.#failed,
      late: () => leaveResponse(faults, 'too_slow'),
      isBehind: () => this.#isBehind,
      onDrain: () => upstream.resume(),
    }
    const framer = new SseFramer(faults.options.parts.maxBody, memory)
    return new SseSource(reader, framer, holdTimeout, coding)
  }

  get #isBehind(): boolean {
    if (this.#context.outlet.blocked || this.gate?.behind === true) return true
    for (const { behind } of this.#chains.values()) if (behind) return true
    return false
  }

  async #finish(last: () => void): Promise<void> {
    // Chains that end before have dropped the rest.
    this.#isClosing = true
    const rest = await this.#source.end()
    try {
      this.gate?.close()
      await this.gate?.done
      for (const chain of this.#chains.values()) {
        chain.close()
        await chain.done
      }
    } catch {
      return
    }
    const { faults, outlet } = this.#context
    if (outlet.ended) return
    const isOpen = this.#chains.has(faults.exchange) && !faults.exchange.stop.aborted
    for (const own of isOpen ? faults.calls : [])
      if (own.upstreamResponse !== undefined && !hasEnded(own)) respondedBy(own, undefined)
    this.#sendMarkers()
    this.#out.send(rest)
    this.#out.release()
    last()
  }

  /** Opens the chain of a call, or of the exchange. */
  #open(own: CallInjection): void {
    const { exchange, shared } = this.#context.faults
    const check = (verdict: Verdict) => {
      const reason = checkStreamVerdict(own.call, verdict, shared, this.#out.released)
      const isStatus = verdict.kind === 'respond' && verdict.reply.kind === 'http'
      if (isStatus && reason === undefined) {
        this.#isReplaced = true
        this.#out.holdOn()
      }
      return reason
    }
    const onFrame = (frame: ChainFrame) =>
      own === exchange ? this.#route(own, frame) : this.#emit(own, frame)
    const chain = new FrameChain(own, check, onFrame, this.continued)
    this.#chains.set(own, chain)
    const holdsAll = own === exchange || !shared
    chain.done.then(() => holdsAll && !this.#isClosing && this.#endEarly(), this.#failed)
  }

  #openGate(planner: MessagePlanner): void {
    const { faults, upstream } = this.#context
    this.openGate({
      cut: (how) => this.#failed(new CutResponse(how)),
      asked: (frame) => pipeInputRequests(faults, frame),
      plan: (message) => planner.plan(message, ownerOf(faults.calls, message)?.call),
      uncut: faults.shared ? 'shared_exchange' : undefined,
      post: (text) => upstream.post(text),
      memory: faults.exchange.memory,
    })
  }

  /** Reads an event. */
  #read(frame: SseFrame): void {
    const { faults } = this.#context
    if (frame.oversized) {
      leaveResponse(faults, 'too_large')
      this.push({ kind: 'sealed', raw: frame.raw, ends: frame.ends })
      return
    }
    if (frame.id !== undefined) {
      // Clients before protocol version 2026-07-28 may resume the stream.
      for (const own of faults.calls) own.isResumable = !isModern(own.call!.protocolVersion)
    }
    const read = readEvent(frame)
    const { messages } = read
    if (messages.length === 0 && hasNoFields(frame)) {
      this.push({ kind: 'quiet', raw: frame.raw })
      return
    }
    for (const message of messages) {
      const ended = this.#endedBy(message)
      if (ended !== undefined) noteResponse(faults.options.exchange.entries, ended.call)
    }
    if (messages.length > MAX_MESSAGES) leaveResponse(faults, 'too_complex')
    this.push(eventFrame(frame, read, this.batch))
  }

  protected override passed(frame: ChainFrame): Promise<void> | undefined {
    const { exchange, calls } = this.#context.faults
    // A reply to a request for input takes the place of the response to the only call.
    if (frame.reply !== undefined) return this.#emit(calls[0]!, frame)
    const chain = this.#chains.get(exchange)
    if (chain === undefined) return this.#route(exchange, frame)
    // The faults of the exchange may change or drop the response of a call.
    for (const message of frame.batch ?? [frame.message]) {
      const own = message && this.#endedBy(message)
      if (own !== undefined) own.upstreamResponse = message
    }
    return chain.take(frame)
  }

  #route(from: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    const { outlet, faults } = this.#context
    // After the end, another connection may carry the event.
    if (outlet.ended) return undefined
    const { batch, message, reply } = frame
    if (batch !== undefined) this.#passesBatch(batch)
    const owner =
      reply !== undefined || batch !== undefined ? undefined : ownerOf(faults.calls, message)
    if (owner === undefined) return this.#emit(from, frame)
    if (frame.last === true) owner.upstreamResponse ??= message
    const chain = this.#chains.get(owner)
    return chain === undefined ? this.#emit(owner, frame) : chain.take(frame)
  }

  /** Records the responses of a batch on which no fault acts. */
  #passesBatch(batch: readonly Message[]): void {
    for (const message of batch) {
      const own = this.#endedBy(message)
      if (own === undefined) continue
      own.upstreamResponse = message
      respondedBy(own, message)
    }
  }

  /** Returns the call that a message ends, if any. */
  #endedBy(message: Message): CallInjection | undefined {
    if (!isResponse(message)) return undefined
    const { calls } = this.#context.faults
    const own = calls.find(({ call }) => call!.id === message.id)
    return own ?? (message.id === null && calls.length === 1 ? calls[0] : undefined)
  }

  #emit(owner: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    const { faults, outlet } = this.#context
    if (outlet.ended) return undefined
    const { reply, raw, kind, message, batch = [] } = frame
    if (reply?.kind === 'http') return this.#replace(owner, reply)
    if (this.#isReplaced) return undefined
    const isReply = reply !== undefined && owner.call !== undefined
    if (isReply && !faults.shared && !this.#out.released) outlet.bypass()
    const markers = kind === 'quiet' ? [] : [...takeMarkers(faults.exchange), ...takeMarkers(owner)]
    if (kind === 'sealed' && !isReply) this.#out.piece(raw, frame.ends !== false)
    else {
      this.#out.send(sentEvent(owner, frame), markers)
      if (isReply || message !== undefined || batch.length > 0) this.#out.release()
    }
    return outlet.ready()
  }

  /** Responds by a status instead of the stream, whose head is held. */
  #replace(owner: CallInjection, reply: HttpReply): undefined {
    const { faults, head, outlet } = this.#context
    move(owner, 'changes')
    // The chains end with this, and must not end the response, which may wait for a slow client.
    this.#isClosing = true
    this.#cutCalls(false)
    outlet.bypass()
    const { head: request } = faults.options.exchange
    outlet.whole(httpResponse(reply, request, hasMarkers(faults), head.headers))
  }

  /** Ends the response before the upstream does. */
  #endEarly(): void {
    if (this.#context.outlet.ended) return
    this.#sendMarkers()
    this.#cutCalls(true)
    this.#context.outlet.end([])
  }

  /** Ends all calls before the upstream does, behind what is sent, if anything. */
  #cutCalls(isSent: boolean): void {
    for (const own of this.#context.faults.calls) move(own, 'cuts')
    if (isSent) this.#out.release()
    this.stop()
    this.#context.upstream.drop()
  }

  #sendMarkers(): void {
    this.#out.send(NOTHING, takeAllMarkers(this.#context.faults))
  }

  readonly #failed = (error: unknown): void => {
    const { outlet, faults, upstream } = this.#context
    if (outlet.ended) return
    if (error instanceof CutResponse) {
      if (faults.calls.length === 0) move(faults.exchange, 'changes')
      this.#cutCalls(true)
      return outlet.cut(error.how)
    }
    faults.options.listener.failed(NO_FAULT, error)
    upstream.drop()
    outlet.fail({ kind: 'closed', message: 'faults could not be applied to a response' })
  }
}

/** Returns the call of the exchange to which an event belongs, if that is certain. */
function ownerOf(
  calls: readonly CallInjection[],
  message: Message | undefined,
): CallInjection | undefined {
  if (calls.length <= 1) return calls[0]
  if (isResponse(message)) {
    return calls.find((own) => !hasEnded(own) && own.call!.id === message.id)
  }
  const token = progressTokenOf(message)
  if (token === undefined) return undefined
  return calls.find(({ call }) => call!.progressToken === token)
}
