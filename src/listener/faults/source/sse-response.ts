import type { Transform } from 'node:stream'
import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Verdict } from '../../../filters/fault.ts'
import { eventMessage } from '../../../mcp/event-message.ts'
import { MarkerRenamer } from '../../../http/renamed-markers.ts'
import { headerValue, type HeaderLines } from '../../../http/headers.ts'
import { asSseEvent } from '../../../mcp/reply.ts'
import { hasNoFields } from '../../../mcp/sse-fields.ts'
import type { Failure } from '../../../http/transfer.ts'
import { SseFramer, type SseFrame } from '../../../mcp/sse-framer.ts'
import { decoderFor } from '../../../http/content-coding.ts'
import type { ResponsePart, ResponseContext } from './faulted-sink.ts'
import type { CallFaults } from '../call-faults.ts'
import { FrameChain, type OnFrame } from '../chain/fault-chain.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import { httpResponse, replyEvent, replyMessage } from '../emit/injected-response.ts'
import { appFrame, type ChainFrame, isOpen, QuietFrame, SealedFrame } from '../chain/frame.ts'
import { type FeedReceiver, SseFeed, TimedFramer, endedBy, ownerOf } from './sse-feed.ts'
import { SseOutlet } from '../emit/event-outlets.ts'
import { checkStreamVerdict } from '../request/verdicts.ts'
import { gateOf } from './response-gate.ts'
import type { MessageGate } from './server-messages.ts'

/**
 * Routes the events of a streamed response through the chains of their calls to the client; events
 * without a chain are sent at once.
 */
export class SseResponse implements ResponsePart {
  readonly #context: ResponseContext
  readonly #out: SseOutlet
  readonly #framer: TimedFramer
  readonly #feed: SseFeed
  readonly #decoder: Transform | undefined
  readonly #chains = new Map<CallFaults, FrameChain>()
  readonly #exchangeChain: FrameChain | undefined
  readonly #gate: MessageGate | undefined
  #paused = false
  #ending = false

  constructor(context: ResponseContext) {
    const { faults, outlet, head, coding, replies } = context
    this.#context = context
    const { maxBody, holdTimeout } = faults.options
    const sized = headerValue(head.headers, 'content-length') !== undefined
    const same = coding === 'identity' && replies.length === 0 && !sized
    const sent = same ? head : { ...head, headers: headersForChangedBody(head.headers) }
    // Faults can replace the status while the head is held: until the app's first message.
    const hold = faults.all.some((each) => each.mayReplace) ? holdTimeout : 0
    this.#out = new SseOutlet(outlet, sent, hold)
    for (const reply of replies) this.#out.send(asSseEvent(reply).bytes)
    const late = (): void => faults.leaveResponse('too_slow')
    const half = { isBehind: () => this.#feedBehind, late }
    const whole = new SseFramer(maxBody, faults.memory)
    const framer = (this.#framer = new TimedFramer(whole, holdTimeout, half))
    const receiver: FeedReceiver = {
      take: (bytes, emit) => this.#out.joined(() => framer.push(bytes, emit)),
      read: this.#frame,
      onError: this.#handleError,
      isBehind: () => this.#chainsBehind,
      onResume: this.#onDrain,
    }
    this.#feed = new SseFeed(receiver, faults.memory)
    const createChain = (of: CallFaults, onFrame: OnFrame) => {
      const check = (verdict: Verdict) =>
        checkStreamVerdict(of.call, verdict, faults.shared, this.#out.released)
      return new FrameChain(of, check, onFrame, this.#onDrain)
    }
    for (const call of faults.calls) {
      const toClient = (frame: ChainFrame) => this.#emit(call, frame)
      if (call.actsOnResponse) this.#chains.set(call, createChain(call, toClient))
    }
    const { exchange } = faults
    const route = (frame: ChainFrame) => this.#route(exchange, frame)
    if (exchange.actsOnResponse) this.#exchangeChain = createChain(exchange, route)
    this.#gate = gateOf(context, {
      onFrame: (frame) => this.#second(frame),
      onReply: (frame) => this.#emit(faults.calls[0]!, frame),
      onDrain: this.#onDrain,
      cut: (how) => this.#handleError(new CutResponse(how)),
    })
    for (const each of this.#all) {
      const holdsAll = each === this.#exchangeChain || !faults.shared
      each.done.then(() => holdsAll && !this.#ending && this.#endEarly(), this.#handleError)
    }
    this.#decoder = decoderFor(coding)
    const comments = new MarkerRenamer()
    this.#decoder?.on('data', (chunk: Uint8Array) => {
      comments.clean(chunk)
      this.#feed.push(chunk)
      if (this.#feedBehind) this.#decoder?.pause()
    })
    this.#decoder?.on('drain', this.#onDrain)
    this.#decoder?.on('error', this.#handleError)
  }

  get #all(): readonly FrameChain[] {
    const chains = [...this.#chains.values()]
    return this.#exchangeChain === undefined ? chains : [this.#exchangeChain, ...chains]
  }

  data(chunk: Uint8Array): boolean {
    if (this.#decoder === undefined) this.#feed.push(chunk)
    else this.#decoder.write(chunk)
    this.#paused = this.#behind
    return !this.#paused
  }

  end(trailers: HeaderLines): void {
    this.#ending = true
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
    this.#ending = true
    faults.disarm()
    this.#gate?.wake()
    void this.#finish(fail)
  }

  resume(): void {
    this.#context.outlet.resume()
    this.#onDrain()
  }

  stop(): void {
    this.#gate?.drop()
    for (const chain of this.#all) chain.drop()
    this.#feed.drop()
    this.#framer.stop()
    this.#out.stop()
    this.#decoder?.destroy()
  }

  get #chainsBehind(): boolean {
    const { outlet } = this.#context
    return outlet.blocked || this.#gate?.behind === true || this.#all.some(({ behind }) => behind)
  }

  get #feedBehind(): boolean {
    return this.#chainsBehind || this.#feed.behind
  }

  get #behind(): boolean {
    return this.#feedBehind || this.#decoder?.writableNeedDrain === true
  }

  readonly #onDrain = (): void => {
    this.#feed.resume()
    if (this.#feedBehind) return
    this.#decoder?.resume()
    if (!this.#paused || this.#behind) return
    this.#paused = false
    this.#context.app.resume()
  }

  async #finish(last: () => void): Promise<void> {
    const { outlet } = this.#context
    await this.#feed.drained()
    const rest = this.#framer.end()
    try {
      this.#gate?.close()
      await this.#gate?.done
      for (const chain of this.#all) {
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

  readonly #frame = (frame: SseFrame): void => {
    const { faults } = this.#context
    if (frame.oversized) {
      faults.leaveResponse('too_large')
      this.#first(SealedFrame.piece(frame.raw, frame.ends))
      return
    }
    const { id } = frame
    if (id !== undefined) faults.mayResume()
    const message = eventMessage(frame)
    if (message === undefined && hasNoFields(frame)) {
      this.#first(new QuietFrame(frame.raw))
      return
    }
    const ended = endedBy(faults.calls, message)
    if (ended !== undefined) faults.options.onResponded?.(ended.call)
    this.#first(appFrame('event', frame.raw, message, ended !== undefined, id))
  }

  #first(frame: ChainFrame): void {
    if (this.#gate === undefined) void this.#second(frame)
    else this.#gate.push(frame)
  }

  #second(frame: ChainFrame): Promise<void> | undefined {
    const chain = this.#exchangeChain
    if (chain === undefined) return this.#route(this.#context.faults.exchange, frame)
    chain.push(frame)
    return chain.room()
  }

  #route(from: CallFaults, frame: ChainFrame): Promise<void> | undefined {
    // After the end, another connection may carry the event.
    if (this.#context.outlet.ended) return undefined
    const { calls } = this.#context.faults
    const replaced = frame instanceof SealedFrame && frame.reply !== undefined
    const message = isOpen(frame) ? frame.message : undefined
    const owner = replaced ? undefined : ownerOf(calls, message)
    if (owner === undefined) return this.#emit(from, frame)
    if (isOpen(frame) && frame.last) owner.fate.appResponded(message)
    const chain = this.#chains.get(owner)
    if (chain === undefined) return this.#emit(owner, frame)
    chain.push(frame)
    return chain.room()
  }

  #emit(owner: CallFaults, frame: ChainFrame): Promise<void> | undefined {
    const { faults, outlet, head } = this.#context
    if (outlet.ended) return undefined
    if (frame instanceof QuietFrame) {
      this.#out.send(frame.raw)
      return outlet.ready()
    }
    const reply = frame instanceof SealedFrame ? frame.reply : undefined
    if (reply?.kind === 'http') {
      owner.fate.changed()
      const { request } = faults.options
      this.#out.replace(httpResponse(reply, request, faults.hasMarkers, head.headers))
      this.#endEarly()
      return undefined
    }
    const markers = [...faults.exchange.takeMarkers(), ...owner.takeMarkers()]
    if (reply !== undefined && owner.call !== undefined) {
      owner.fate.replied()
      if (!faults.shared && !this.#out.released) outlet.bypass()
      this.#out.send(replyEvent(replyMessage(reply, owner.call), frame), markers)
      this.#out.release()
    } else if (frame instanceof SealedFrame) {
      this.#out.piece(frame.raw, frame.ends)
    } else {
      if (frame.last) owner.fate.respondedBy(frame.message)
      this.#out.send(frame.raw, markers)
      if (frame.message !== undefined) this.#out.release()
    }
    return outlet.ready()
  }

  #endEarly(): void {
    if (this.#context.outlet.ended) return
    for (const { fate } of this.#context.faults.calls) fate.cut()
    this.#sendMarkers()
    this.#out.release()
    this.stop()
    this.#context.app.drop()
    this.#context.outlet.end([])
  }

  #sendMarkers(): void {
    this.#out.send(new Uint8Array(0), this.#context.faults.takeMarkers())
  }

  readonly #handleError = (error: unknown): void => {
    const { outlet, faults } = this.#context
    if (outlet.ended) return
    if (error instanceof CutResponse) {
      for (const { fate } of faults.calls) fate.cut()
      if (faults.calls.length === 0) faults.exchange.fate.changed()
      this.#out.release()
      this.stop()
      this.#context.app.drop()
      outlet.cut(error.how)
      return
    }
    faults.options.listener.failed({ rule: '', fault: '', call: undefined }, error)
    this.#context.app.drop()
    outlet.fail({ kind: 'closed', message: 'a response could not be taken through its faults' })
  }
}
