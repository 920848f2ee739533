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
import { httpResponse, replyMessage } from '../emit/injected-response.ts'
import { appFrame, type ChainFrame, isOpen, QuietFrame, SealedFrame } from '../chain/frame.ts'
import { type FeedReceiver, SseFeed, TimedFramer, endedBy, ownerOf } from './sse-feed.ts'
import { SseOutlet } from '../emit/event-outlets.ts'
import { checkVerdict } from '../request/verdicts.ts'

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
    const onDrain = (): void => this.#onDrain()
    const take: FeedReceiver['take'] = (bytes, emit) =>
      this.#out.joined(() => framer.push(bytes, emit))
    const read = (frame: SseFrame): void => this.#frame(frame)
    const onError = (error: unknown): void => this.#handleError(error)
    const isBehind = (): boolean => this.#chainsBehind
    this.#feed = new SseFeed({ take, read, onError, isBehind, onResume: onDrain }, faults.memory)
    const createChain = (of: CallFaults, onFrame: OnFrame) => {
      const check = (verdict: Verdict) =>
        // Permanent reasons first: the reason must not depend on the order of responses.
        checkVerdict(of.call, verdict, faults.shared) ??
        (verdict.kind === 'respond' && verdict.reply.kind === 'http' && this.#out.released
          ? 'head_sent'
          : undefined)
      return new FrameChain(of, check, onFrame, onDrain)
    }
    for (const call of faults.calls) {
      const toClient = (frame: ChainFrame) => this.#emit(call, frame)
      if (call.actsOnResponse) this.#chains.set(call, createChain(call, toClient))
    }
    if (faults.exchange.actsOnResponse) {
      this.#exchangeChain = createChain(faults.exchange, (frame) =>
        this.#route(faults.exchange, frame),
      )
    }
    for (const each of this.#all) {
      const holdsAll = each === this.#exchangeChain || !faults.shared
      each.done.then(
        () => holdsAll && !this.#ending && this.#endEarly(),
        (error: unknown) => this.#handleError(error),
      )
    }
    this.#decoder = decoderFor(coding)
    const comments = new MarkerRenamer()
    this.#decoder?.on('data', (chunk: Uint8Array) => {
      comments.clean(chunk)
      this.#feed.push(chunk)
      if (this.#feedBehind) this.#decoder?.pause()
    })
    this.#decoder?.on('drain', () => this.#onDrain())
    this.#decoder?.on('error', (error) => this.#handleError(error))
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
    void this.#finish(fail)
  }

  resume(): void {
    this.#context.outlet.resume()
    this.#onDrain()
  }

  stop(): void {
    for (const chain of this.#all) chain.drop()
    this.#feed.drop()
    this.#framer.stop()
    this.#out.stop()
    this.#decoder?.destroy()
  }

  get #chainsBehind(): boolean {
    return this.#context.outlet.blocked || this.#all.some((chain) => chain.behind)
  }

  get #feedBehind(): boolean {
    return this.#chainsBehind || this.#feed.behind
  }

  get #behind(): boolean {
    return this.#feedBehind || this.#decoder?.writableNeedDrain === true
  }

  #onDrain(): void {
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

  #frame(frame: SseFrame): void {
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
    if (this.#exchangeChain === undefined) void this.#route(this.#context.faults.exchange, frame)
    else this.#exchangeChain.push(frame)
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
    const { faults, outlet } = this.#context
    if (outlet.ended) return undefined
    if (frame instanceof QuietFrame) {
      this.#out.send(frame.raw)
      return outlet.ready()
    }
    const reply = frame instanceof SealedFrame ? frame.reply : undefined
    if (reply?.kind === 'http') {
      owner.fate.changed()
      const response = httpResponse(
        reply,
        faults.options.request,
        faults.hasMarkers,
        this.#context.head.headers,
      )
      this.#out.replace(response)
      this.#endEarly()
      return undefined
    }
    const markers = [...faults.exchange.takeMarkers(), ...owner.takeMarkers()]
    if (reply !== undefined && owner.call !== undefined) {
      owner.fate.replied()
      if (!faults.shared && !this.#out.released) outlet.bypass()
      const event = asSseEvent(replyMessage(reply, owner.call)).bytes
      const id = frame instanceof SealedFrame ? frame.eventId : undefined
      const bytes = id === undefined ? event : Buffer.concat([Buffer.from(`id: ${id}\n`), event])
      this.#out.send(bytes, markers)
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

  #handleError(error: unknown): void {
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
