import type { Transform } from 'node:stream'
import { CutResponse } from '../../../filters/lib/cut-response.ts'
import { MarkerRenamer } from '../../../http/renamed-markers.ts'
import { headerValue, type HeaderLines } from '../../../http/headers.ts'
import { asSseEvent } from '../../../mcp/reply.ts'
import type { Failure } from '../../../http/transfer.ts'
import { SseFramer } from '../../../mcp/sse-framer.ts'
import { decoderFor } from '../../../http/content-coding.ts'
import type { ResponsePart, ResponseContext } from './response-part.ts'
import { type CallInjection, mayReplace } from '../call-injection.ts'
import { move, respondedBy, takeMarkers } from '../call-state.ts'
import { hasMarkers } from '../exchange-faults.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import { httpResponse, replyEvent, replyMessage } from '../emit/injected-response.ts'
import { type UpstreamFrame, type ChainFrame, QuietFrame, SealedFrame } from '../chain/frame.ts'
import { EventPath } from './event-path.ts'
import { type FeedReceiver, SseFeed, TimedFramer } from './sse-feed.ts'
import { SseOutlet } from '../emit/event-outlets.ts'

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
  readonly #path: EventPath
  #paused = false

  constructor(context: ResponseContext) {
    const { faults, outlet, head, coding, replies } = context
    this.#context = context
    const { maxBody, holdTimeout } = faults.options
    const sized = headerValue(head.headers, 'content-length') !== undefined
    const same = coding === 'identity' && replies.length === 0 && !sized
    const sent = same ? head : { ...head, headers: headersForChangedBody(head.headers) }
    // Faults can replace the status while the head is held: until the upstream's first message.
    const hold = faults.all.some(mayReplace) ? holdTimeout : 0
    this.#out = new SseOutlet(outlet, sent, hold)
    for (const reply of replies) this.#out.send(asSseEvent(reply).bytes)
    const late = (): void => faults.leaveResponse('too_slow')
    const half = { isBehind: () => this.#feedBehind, late }
    const whole = new SseFramer(maxBody, faults.memory)
    const framer = (this.#framer = new TimedFramer(whole, holdTimeout, half))
    const receiver: FeedReceiver = {
      take: (bytes, emit) => this.#out.joined(() => framer.push(bytes, emit)),
      read: (frame) => this.#path.read(frame),
      onError: this.#handleError,
      isBehind: () => this.#chainsBehind,
      onResume: this.#onDrain,
    }
    this.#feed = new SseFeed(receiver, faults.memory)
    this.#path = new EventPath(context, {
      isHeadSent: () => this.#out.released,
      emit: (owner, frame) => this.#emit(owner, frame),
      onDrain: this.#onDrain,
      onEnd: () => this.#endEarly(),
      onError: this.#handleError,
      cut: (how) => this.#handleError(new CutResponse(how)),
    })
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

  data(chunk: Uint8Array): boolean {
    if (this.#decoder === undefined) this.#feed.push(chunk)
    else this.#decoder.write(chunk)
    this.#paused = this.#behind
    return !this.#paused
  }

  end(trailers: HeaderLines): void {
    this.#path.closing()
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
    this.#path.closing()
    faults.disarm()
    this.#path.wake()
    void this.#finish(fail)
  }

  resume(): void {
    this.#context.outlet.resume()
    this.#onDrain()
  }

  stop(): void {
    this.#path.drop()
    this.#feed.drop()
    this.#framer.stop()
    this.#out.stop()
    this.#decoder?.destroy()
  }

  get #chainsBehind(): boolean {
    return this.#context.outlet.blocked || this.#path.behind
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
    this.#context.upstream.resume()
  }

  async #finish(last: () => void): Promise<void> {
    const { outlet } = this.#context
    await this.#feed.drained()
    const rest = this.#framer.end()
    try {
      await this.#path.close()
    } catch {
      return
    }
    if (outlet.ended) return
    this.#sendMarkers()
    this.#out.send(rest)
    this.#out.release()
    last()
  }

  #emit(owner: CallInjection, frame: ChainFrame): Promise<void> | undefined {
    const { faults, outlet, head } = this.#context
    if (outlet.ended) return undefined
    if (frame instanceof QuietFrame) {
      this.#out.send(frame.raw)
      return outlet.ready()
    }
    const reply = frame instanceof SealedFrame ? frame.reply : undefined
    if (reply?.kind === 'http') {
      move(owner, 'changes')
      const { request } = faults.options
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
    } else if (frame instanceof SealedFrame) {
      this.#out.piece(frame.raw, frame.ends)
    } else {
      if (frame.last) respondedBy(owner, frame.message)
      const { batch = [] } = frame as UpstreamFrame
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
    this.#out.send(new Uint8Array(0), this.#context.faults.takeMarkers())
  }

  readonly #handleError = (error: unknown): void => {
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
    faults.options.listener.failed({ rule: '', fault: '', call: undefined }, error)
    this.#context.upstream.drop()
    outlet.fail({ kind: 'closed', message: 'a response could not be taken through its faults' })
  }
}
