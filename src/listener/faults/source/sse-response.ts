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
import type { ResponsePart, ResponseSetting } from './response-part.ts'
import type { CallRun } from '../call-run.ts'
import { FrameChain } from '../chain/frame-chain.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import { httpResponse, replyMessage } from '../emit/injected-response.ts'
import { AppFrame, isOpen, QuietFrame, SealedFrame, type ChainFrame } from '../chain/frame.ts'
import { endedBy, ownerOf } from './event-owner.ts'
import { SseFeed, type FeedEnd } from './sse-feed.ts'
import { TimedFramer } from './timed-framer.ts'
import { SseOutlet } from '../emit/sse-outlet.ts'
import { unfit } from '../request/unfit.ts'

/**
 * A response that is a stream. Its events go to the lane of the call that they belong to, and to the
 * client from there; what no fault wants goes to the client at once.
 */
export class SseResponse implements ResponsePart {
  readonly #setting: ResponseSetting
  readonly #out: SseOutlet
  readonly #framer: TimedFramer
  readonly #feed: SseFeed
  readonly #decoder: Transform | undefined
  readonly #lanes = new Map<CallRun, FrameChain>()
  readonly #whole: FrameChain | undefined
  #paused = false
  #ending = false

  constructor(setting: ResponseSetting) {
    const { run, outlet, head, coding, replies } = setting
    this.#setting = setting
    const { maxBody, holdTimeout } = run.options
    const sized = headerValue(head.headers, 'content-length') !== undefined
    const same = coding === 'identity' && replies.length === 0 && !sized
    const sent = same ? head : { ...head, headers: headersForChangedBody(head.headers) }
    // A status can only be given while the head is held back. It is, until the app speaks.
    const hold = run.all.some((each) => each.mayReplace) ? holdTimeout : 0
    this.#out = new SseOutlet(outlet, sent, hold)
    for (const reply of replies) this.#out.send(asSseEvent(reply).bytes)
    const half = {
      isBehind: () => this.#feedBehind,
      late: () => run.leaveResponse('too_slow'),
    }
    const whole = new SseFramer(maxBody, run.memory)
    const framer = (this.#framer = new TimedFramer(whole, holdTimeout, half))
    const relieved = (): void => this.#relieved()
    const take: FeedEnd['take'] = (bytes, emit) => this.#out.joined(() => framer.push(bytes, emit))
    const read = (frame: SseFrame): void => this.#frame(frame)
    const broke = (error: unknown): void => this.#broken(error)
    const isBehind = (): boolean => this.#laneBehind
    this.#feed = new SseFeed({ take, read, broke, isBehind, turned: relieved }, run.memory)
    const lane = (of: CallRun, onward: (frame: ChainFrame) => Promise<void> | undefined) => {
      const check = (verdict: Verdict) =>
        // What never fits comes first: the reason is not to depend on who was answered when.
        unfit(of.call, verdict, run.shared) ??
        (verdict.kind === 'respond' && verdict.reply.kind === 'http' && this.#out.released
          ? 'head_sent'
          : undefined)
      return new FrameChain(of, check, onward, relieved)
    }
    for (const call of run.calls) {
      const toClient = (frame: ChainFrame) => this.#emit(call, frame)
      if (call.actsOnResponse) this.#lanes.set(call, lane(call, toClient))
    }
    if (run.exchange.actsOnResponse) {
      this.#whole = lane(run.exchange, (frame) => this.#route(run.exchange, frame))
    }
    for (const each of this.#all) {
      const holdsAll = each === this.#whole || !run.shared
      each.done.then(
        () => holdsAll && !this.#ending && this.#over(),
        (error: unknown) => this.#broken(error),
      )
    }
    this.#decoder = decoderFor(coding)
    const comments = new MarkerRenamer()
    this.#decoder?.on('data', (chunk: Uint8Array) => {
      comments.clean(chunk)
      this.#feed.push(chunk)
      if (this.#feedBehind) this.#decoder?.pause()
    })
    this.#decoder?.on('drain', () => this.#relieved())
    this.#decoder?.on('error', (error) => this.#broken(error))
  }

  get #all(): readonly FrameChain[] {
    const lanes = [...this.#lanes.values()]
    return this.#whole === undefined ? lanes : [this.#whole, ...lanes]
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
    const { outlet } = this.#setting
    const finish = (): void => void this.#finish(() => outlet.end(trailers))
    if (decoder === undefined || decoder.destroyed) finish()
    else {
      decoder.once('close', finish)
      decoder.end()
      decoder.resume()
    }
  }

  fail(failure: Failure): void {
    const { run, outlet } = this.#setting
    const fail = (): void => outlet.fail(failure)
    // A reset throws away what was not read; half of what is compressed is nothing.
    if (failure.kind === 'reset' || this.#decoder !== undefined) {
      fail()
      this.stop()
      return
    }
    this.#ending = true
    run.disarm()
    void this.#finish(fail)
  }

  resume(): void {
    this.#setting.outlet.resume()
    this.#relieved()
  }

  stop(): void {
    for (const lane of this.#all) lane.drop()
    this.#feed.drop()
    this.#framer.stop()
    this.#out.stop()
    this.#decoder?.destroy()
  }

  get #laneBehind(): boolean {
    return this.#setting.outlet.blocked || this.#all.some((lane) => lane.behind)
  }

  get #feedBehind(): boolean {
    return this.#laneBehind || this.#feed.behind
  }

  get #behind(): boolean {
    return this.#feedBehind || this.#decoder?.writableNeedDrain === true
  }

  #relieved(): void {
    this.#feed.goOn()
    if (this.#feedBehind) return
    this.#decoder?.resume()
    if (!this.#paused || this.#behind) return
    this.#paused = false
    this.#setting.resumeApp()
  }

  async #finish(last: () => void): Promise<void> {
    const { outlet } = this.#setting
    await this.#feed.drained()
    const rest = this.#framer.end()
    try {
      for (const lane of this.#all) {
        lane.close()
        await lane.done
      }
    } catch {
      return
    }
    if (outlet.over) return
    this.#sendMarks()
    this.#out.send(rest)
    this.#out.release()
    last()
  }

  #frame(frame: SseFrame): void {
    const { run } = this.#setting
    if (frame.oversized) {
      run.leaveResponse('too_large')
      this.#first(SealedFrame.piece(frame.raw, frame.ends))
      return
    }
    const { id } = frame
    if (id !== undefined) run.mayResume()
    const message = eventMessage(frame)
    if (message === undefined && hasNoFields(frame)) {
      this.#first(new QuietFrame(frame.raw))
      return
    }
    const ended = endedBy(run.calls, message)
    if (ended !== undefined) run.options.onResponded?.(ended.call)
    this.#first(new AppFrame('event', frame.raw, message, ended !== undefined, id))
  }

  #first(frame: ChainFrame): void {
    if (this.#whole === undefined) void this.#route(this.#setting.run.exchange, frame)
    else this.#whole.push(frame)
  }

  #route(from: CallRun, frame: ChainFrame): Promise<void> | undefined {
    // What wakes up behind the end may be another connection's to bring by now.
    if (this.#setting.outlet.over) return undefined
    const { calls } = this.#setting.run
    const replaced = frame instanceof SealedFrame && frame.reply !== undefined
    const message = isOpen(frame) ? frame.message : undefined
    const owner = replaced ? undefined : ownerOf(calls, message)
    if (owner === undefined) return this.#emit(from, frame)
    if (isOpen(frame) && frame.last) owner.appResponse = message
    const lane = this.#lanes.get(owner)
    if (lane === undefined) return this.#emit(owner, frame)
    lane.push(frame)
    return lane.room()
  }

  #emit(owner: CallRun, frame: ChainFrame): Promise<void> | undefined {
    const { run, outlet } = this.#setting
    if (outlet.over) return undefined
    if (frame instanceof QuietFrame) {
      this.#out.send(frame.raw)
      return outlet.ready()
    }
    const reply = frame instanceof SealedFrame ? frame.reply : undefined
    if (reply?.kind === 'http') {
      owner.madeOutcome = true
      const response = httpResponse(
        reply,
        run.options.request,
        run.marked,
        this.#setting.head.headers,
      )
      this.#out.replace(response)
      this.#over()
      return undefined
    }
    const markers = [...run.exchange.takeMarks(), ...owner.takeMarks()]
    if (reply !== undefined && owner.call !== undefined) {
      owner.madeOutcome = true
      owner.responded = true
      if (!run.shared && !this.#out.released) outlet.bypass()
      const event = asSseEvent(replyMessage(reply, owner.call)).bytes
      const id = frame instanceof SealedFrame ? frame.eventId : undefined
      const bytes = id === undefined ? event : Buffer.concat([Buffer.from(`id: ${id}\n`), event])
      this.#out.send(bytes, markers)
      this.#out.release()
    } else if (frame instanceof SealedFrame) {
      this.#out.piece(frame.raw, frame.ends)
    } else {
      if (frame.last) owner.respondedBy(frame.message)
      this.#out.send(frame.raw, markers)
      if (frame.message !== undefined) this.#out.release()
    }
    return outlet.ready()
  }

  #over(): void {
    if (this.#setting.outlet.over) return
    for (const call of this.#setting.run.calls) call.madeOutcome ||= !call.responded
    this.#sendMarks()
    this.#out.release()
    this.stop()
    this.#setting.dropApp()
    this.#setting.outlet.end([])
  }

  #sendMarks(): void {
    this.#out.send(new Uint8Array(0), this.#setting.run.takeMarks())
  }

  #broken(error: unknown): void {
    const { outlet, run } = this.#setting
    if (outlet.over) return
    if (error instanceof CutResponse) {
      for (const call of run.calls) call.madeOutcome ||= !call.responded
      if (run.calls.length === 0) run.exchange.madeOutcome = true
      this.#out.release()
      this.stop()
      this.#setting.dropApp()
      outlet.cut(error.how)
      return
    }
    run.options.listener.broke({ rule: '', fault: '', call: undefined }, error)
    this.#setting.dropApp()
    outlet.fail({ kind: 'closed', message: 'a response could not be taken through its faults' })
  }
}
