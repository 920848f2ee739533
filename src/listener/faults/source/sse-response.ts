import type { Transform } from 'node:stream'
import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Verdict } from '../../../filters/fault.ts'
import { MarkerRenamer } from '../../../http/renamed-markers.ts'
import { headerValue, type HeaderLines } from '../../../http/headers.ts'
import { asSseEvent } from '../../../mcp/reply.ts'
import type { Failure } from '../../../http/transfer.ts'
import { readEvent } from '../../../mcp/event-message.ts'
import { MAX_MESSAGES, type Message } from '../../../mcp/json-rpc.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import { hasNoFields } from '../../../mcp/sse-fields.ts'
import { type EmitFrame, SseFramer, type SseFrame } from '../../../mcp/sse-framer.ts'
import { decoderFor } from '../../../http/content-coding.ts'
import type { ResponsePart, ResponseContext } from './response-part.ts'
import { type CallInjection, actsOnResponse } from '../call-injection.ts'
import { move, respondedBy, takeMarkers } from '../call-state.ts'
import { FrameChain } from '../chain/fault-chain.ts'
import { NO_FAULT } from '../exchange-context.ts'
import { hasMarkers, takeAllMarkers } from '../exchange-faults.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import { httpResponse, replyEvent, replyMessage } from '../emit/injected-response.ts'
import { type UpstreamFrame, type ChainFrame, isOpen } from '../chain/frame.ts'
import { checkStreamVerdict } from '../request/verdicts.ts'
import { type BatchReader, eventFrame, eventsOf } from './batch-events.ts'
import { pipeInputRequests } from './input-requests.ts'
import { MessageGate, type MessagePlanner } from './server-messages.ts'
import { endedBy, ownerOf, SseFeed, TimedFramer } from './sse-feed.ts'
import { SseOutlet } from '../emit/event-outlets.ts'

/**
 * Takes the events of a streamed response through faults to the client: those of the server's
 * messages, those of the exchange, and those of the call to which an event belongs. Events without
 * faults are sent at once.
 */
export class SseResponse extends SseFeed implements ResponsePart {
  readonly #context: ResponseContext
  readonly #out: SseOutlet
  readonly #framer: TimedFramer
  readonly #decoder: Transform | undefined
  readonly #gate: MessageGate | undefined
  /** The chain of the exchange, then those of its calls, where faults act on the response. */
  readonly #chains = new Map<CallInjection, FrameChain>()
  #paused = false
  #isClosing = false

  constructor(context: ResponseContext) {
    const { faults, outlet, head, coding, replies } = context
    super(faults.memory)
    this.#context = context
    const { maxBody, holdTimeout } = faults.options.parts
    const { messagePlanner } = faults.planned
    const sized = headerValue(head.headers, 'content-length') !== undefined
    const same = coding === 'identity' && replies.length === 0 && !sized
    const sent = same ? head : { ...head, headers: headersForChangedBody(head.headers) }
    // Faults can replace the status while the head is held: until the upstream's first message.
    const hold = faults.all.some(({ mayReplace }) => mayReplace) ? holdTimeout : 0
    this.#out = new SseOutlet(outlet, sent, hold)
    for (const reply of replies) this.#out.send(asSseEvent(reply).bytes)
    this.#framer = new TimedFramer(
      new SseFramer(maxBody, faults.memory),
      holdTimeout,
      () => this.#feedBehind,
      () => faults.leaveResponse('too_slow'),
    )
    for (const own of [faults.exchange, ...faults.calls]) if (actsOnResponse(own)) this.#open(own)
    this.#gate = messagePlanner && this.#createGate(messagePlanner)
    this.#decoder = this.#createDecoder()
  }

  #createDecoder(): Transform | undefined {
    const decoder = decoderFor(this.#context.coding)
    const comments = new MarkerRenamer()
    decoder?.on('data', (chunk: Uint8Array) => {
      comments.clean(chunk)
      this.feed(chunk)
      if (this.#feedBehind) decoder.pause()
    })
    decoder?.on('drain', this.continued)
    decoder?.on('error', this.failed)
    return decoder
  }

  data(chunk: Uint8Array): boolean {
    if (this.#decoder === undefined) this.feed(chunk)
    else this.#decoder.write(chunk)
    this.#paused = this.#behind
    return !this.#paused
  }

  end(trailers: HeaderLines): void {
    // Chains that end before have dropped the rest.
    this.#isClosing = true
    const decoder = this.#decoder
    const { outlet } = this.#context
    const finish = (): void => void this.#finish(() => outlet.end(trailers))
    if (decoder === undefined || decoder.destroyed) finish()
    else {
      decoder.once('close', finish)
      decoder.end()
      decoder.resume()
    }
  }

  fail(failure: Failure): void {
    const { faults, outlet } = this.#context
    const fail = (): void => outlet.fail(failure)
    // A reset discards unread data, and a part of a compressed stream is useless.
    if (failure.kind === 'reset' || this.#decoder !== undefined) {
      fail()
      this.stop()
      return
    }
    this.#isClosing = true
    faults.disarm()
    this.#gate?.wake()
    void this.#finish(fail)
  }

  resume(): void {
    this.continued()
  }

  stop(): void {
    this.#gate?.drop()
    for (const chain of this.#chains.values()) chain.drop()
    this.dropFeed()
    this.#framer.stop()
    this.#out.stop()
    this.#decoder?.destroy()
  }

  protected override take(bytes: Uint8Array, emit: EmitFrame): void {
    this.#out.joined(() => this.#framer.push(bytes, emit))
  }

  protected override get chainsBehind(): boolean {
    if (this.#context.outlet.blocked || this.#gate?.behind === true) return true
    for (const { behind } of this.#chains.values()) if (behind) return true
    return false
  }

  get #feedBehind(): boolean {
    return this.chainsBehind || this.waits
  }

  get #behind(): boolean {
    return this.#feedBehind || this.#decoder?.writableNeedDrain === true
  }

  protected override readonly continued = (): void => {
    this.feedOn()
    if (this.#feedBehind) return
    this.#decoder?.resume()
    if (!this.#paused || this.#behind) return
    this.#paused = false
    this.#context.upstream.resume()
  }

  async #finish(last: () => void): Promise<void> {
    const { outlet } = this.#context
    await this.fed()
    const rest = this.#framer.end()
    try {
      this.#gate?.close()
      await this.#gate?.done
      for (const chain of this.#chains.values()) {
        chain.close()
        await chain.done
      }
    } catch {
      return
    }
    if (outlet.ended) return
    this.#sendMarkers()
    this.#out.send(rest)
    this.#out.release()
    last()
  }

  /** Opens the chain of a call, or of the exchange. */
  #open(own: CallInjection): void {
    const { exchange, shared } = this.#context.faults
    const check = (verdict: Verdict) =>
      checkStreamVerdict(own.call, verdict, shared, this.#out.released)
    const onFrame = (frame: ChainFrame) =>
      own === exchange ? this.#route(own, frame) : this.#emit(own, frame)
    const chain = new FrameChain(own, check, onFrame, this.continued)
    this.#chains.set(own, chain)
    const holdsAll = own === exchange || !shared
    chain.done.then(() => holdsAll && !this.#isClosing && this.#endEarly(), this.failed)
  }

  /** Reads an event. */
  protected override read(frame: SseFrame): void {
    const { faults } = this.#context
    if (frame.oversized) {
      faults.leaveResponse('too_large')
      this.#push({ kind: 'sealed', raw: frame.raw, ends: frame.ends })
      return
    }
    if (frame.id !== undefined) {
      // Clients before protocol version 2026-07-28 may resume the stream.
      for (const own of faults.calls) own.isResumable = !isModern(own.call!.protocolVersion)
    }
    const read = readEvent(frame)
    const { messages } = read
    if (messages.length === 0 && hasNoFields(frame)) {
      this.#push({ kind: 'quiet', raw: frame.raw })
      return
    }
    for (const message of messages) {
      const ended = endedBy(faults.calls, message)
      if (ended !== undefined) faults.options.exchange.onResponded?.(ended.call)
    }
    if (messages.length > MAX_MESSAGES) faults.leaveResponse('too_complex')
    this.#push(eventFrame(frame, read, this.#batch))
  }

  #push(frame: ChainFrame): void {
    if (this.#gate !== undefined) this.#gate.push(frame)
    else if (!isOpen(frame)) void this.#passed(frame)
    else for (const each of eventsOf(frame as UpstreamFrame, this.#batch)) void this.#passed(each)
  }

  /** Takes a frame from the gate. */
  #passed(frame: ChainFrame): Promise<void> | undefined {
    const { exchange } = this.#context.faults
    const chain = this.#chains.get(exchange)
    if (chain === undefined) return this.#route(exchange, frame)
    chain.push(frame)
    return chain.room()
  }

  #route(from: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    const { outlet, faults } = this.#context
    // After the end, another connection may carry the event.
    if (outlet.ended) return undefined
    const { batch, message, reply } = frame
    const owner =
      reply !== undefined || batch !== undefined ? undefined : ownerOf(faults.calls, message)
    if (batch !== undefined) this.#passesBatch(batch)
    if (owner === undefined) return this.#emit(from, frame)
    if (frame.last === true) owner.upstreamResponse = message
    const chain = this.#chains.get(owner)
    if (chain === undefined) return this.#emit(owner, frame)
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
      const { exchange, calls } = this.#context.faults
      if (this.#chains.has(exchange)) return true
      const owner = ownerOf(calls, message)
      return owner !== undefined && this.#chains.has(owner)
    },
    ends: (message: Message | undefined): boolean =>
      endedBy(this.#context.faults.calls, message) !== undefined,
  } satisfies BatchReader

  /** Creates the gate of the server's messages. */
  #createGate(planner: MessagePlanner): MessageGate {
    const { faults, upstream } = this.#context
    return new MessageGate({
      batch: this.#batch,
      onFrame: (frame) => {
        // A reply to a request for input takes the place of the response to the only call.
        return frame.reply !== undefined ? this.#emit(faults.calls[0]!, frame) : this.#passed(frame)
      },
      onDrain: this.continued,
      cut: (how) => this.failed(new CutResponse(how)),
      asked: (frame) => pipeInputRequests(faults, frame),
      plan: (message) => {
        const call = ownerOf(faults.calls, message)?.call
        const disturbs = () => faults.options.exchange.disturbancesOf?.(call) ?? []
        return planner.plan(message, { call, disturbs })
      },
      uncut: faults.shared ? 'shared_exchange' : undefined,
      post: (text) => upstream.post(text),
      memory: faults.memory,
    })
  }

  #emit(owner: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    const { faults, outlet, head } = this.#context
    if (outlet.ended) return undefined
    if (frame.kind === 'quiet') {
      this.#out.send(frame.raw)
      return outlet.ready()
    }
    const { reply } = frame
    if (reply?.kind === 'http') {
      move(owner, 'changes')
      const { head: request } = faults.options.exchange
      this.#out.replace(httpResponse(reply, request, hasMarkers(faults), head.headers))
      this.#endEarly()
      return undefined
    }
    const markers = [...takeMarkers(faults.exchange), ...takeMarkers(owner)]
    if (reply !== undefined && owner.call !== undefined) {
      move(owner, 'replaces')
      if (!faults.shared && !this.#out.released) outlet.bypass()
      this.#out.send(replyEvent(replyMessage(reply, owner.call), frame), markers)
      this.#out.release()
    } else if (frame.kind === 'sealed') {
      this.#out.piece(frame.raw, frame.ends !== false)
    } else {
      if (frame.last === true) respondedBy(owner, frame.message)
      const { batch = [] } = frame
      this.#out.send(frame.raw, markers)
      if (frame.message !== undefined || batch.length > 0) this.#out.release()
    }
    return outlet.ready()
  }

  #endEarly(): void {
    if (this.#context.outlet.ended) return
    for (const own of this.#context.faults.calls) move(own, 'cuts')
    this.#sendMarkers()
    this.#out.release()
    this.stop()
    this.#context.upstream.drop()
    this.#context.outlet.end([])
  }

  #sendMarkers(): void {
    this.#out.send(new Uint8Array(0), takeAllMarkers(this.#context.faults))
  }

  protected override readonly failed = (error: unknown): void => {
    const { outlet, faults } = this.#context
    if (outlet.ended) return
    if (error instanceof CutResponse) {
      for (const own of faults.calls) move(own, 'cuts')
      if (faults.calls.length === 0) move(faults.exchange, 'changes')
      this.#out.release()
      this.stop()
      this.#context.upstream.drop()
      outlet.cut(error.how)
      return
    }
    faults.options.listener.failed(NO_FAULT, error)
    this.#context.upstream.drop()
    outlet.fail({ kind: 'closed', message: 'a response could not be taken through its faults' })
  }
}
