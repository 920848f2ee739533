import { CutResponse } from '../../../filters/lib/cut-response.ts'
import { linesWithout, type HeaderLines } from '../../../http/headers.ts'
import { Pieces } from '../../../base/pieces.ts'
import { readingCost } from '../../../base/json/json-bounds.ts'
import { jsonWeight } from '../../../base/json/json-weight.ts'
import type { Failure } from '../../../http/transfer.ts'
import { HoldTimer } from '../../hold-watch.ts'
import { decodedLimit, decodeWhole } from '../../../http/content-coding.ts'
import { heavyWork } from '../../event-loop.ts'
import type { ResponsePart, ResponseSetting } from './response-part.ts'
import { isStream, isThere, joined } from './body-messages.ts'
import { onlyElement, onlyMessage, readMessage } from './body-messages.ts'
import { changedBatch, jsonBytes } from './body-batch.ts'
import type { CallRun } from '../call-run.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import { FrameQueue } from '../chain/frame-queue.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import { hasNoBody, httpResponse, replyMessage } from '../emit/injected-response.ts'
import { jsonArray, withElementsInFront } from './json-array.ts'
import { AppFrame, SealedFrame, UnreadFrame, type ChainFrame } from '../chain/frame.ts'
import { unfit } from '../request/unfit.ts'

/** A response that is one body: held until it is whole, so that faults can take it for one thing. */
export class BodyResponse implements ResponsePart {
  readonly #setting: ResponseSetting
  readonly #pieces = new Pieces()
  #passing = false
  readonly #timer: HoldTimer
  /** Faults are asked about a response that is too large to be held. */
  #asking = false
  /** The response ended meanwhile. */
  #ended: HeaderLines | undefined

  constructor(setting: ResponseSetting) {
    this.#setting = setting
    const { run } = setting
    const late = (): void => {
      run.leaveResponse('too_slow')
      this.#pass()
    }
    this.#timer = new HoldTimer(run.options.holdTimeout, () => this.#pieces.size, late)
  }

  data(chunk: Uint8Array): boolean {
    const { run, outlet } = this.#setting
    if (this.#passing) return outlet.data(chunk)
    this.#pieces.push(chunk)
    const isHeld = run.memory.take(chunk.length)
    if (this.#asking) return false
    if (!isHeld) return this.#pass()
    if (this.#pieces.size <= run.options.maxBody) return true
    if (this.#isAlone && run.all.some((each) => each.mayReplace)) {
      this.#asking = true
      this.#timer.stop()
      void this.#ask().catch((error: unknown) => this.#broke(error, this.#ended))
      return false
    }
    run.leaveResponse('too_large')
    return this.#pass()
  }

  end(trailers: HeaderLines): void {
    this.#timer.stop()
    this.#setting.run.options.onResponded?.(undefined)
    if (this.#passing) this.#setting.outlet.end(trailers)
    else if (this.#asking) this.#ended = trailers
    else void this.#response(trailers).catch((error: unknown) => this.#broke(error, trailers))
  }

  fail(failure: Failure): void {
    if (!this.#passing) this.#pass()
    this.#setting.outlet.fail(failure)
  }

  resume(): void {
    if (this.#passing) this.#setting.resumeApp()
  }

  stop(): void {
    this.#timer.stop()
    this.#pieces.clear()
  }

  /** Sends what was held as it came, and what follows too. */
  #pass(): boolean {
    const { outlet, head, replies } = this.#setting
    this.#passing = true
    this.#timer.stop()
    // A rest of a batch that cannot be held is not taken apart: what was answered here goes in front.
    const [start] = this.#pieces.list
    const front =
      replies.length === 0 || start === undefined || head.status >= 300
        ? undefined
        : withElementsInFront(
            start,
            replies.map((reply) => jsonBytes(reply)),
          )
    const headers = front === undefined ? head.headers : headersForChangedBody(head.headers)
    outlet.head({ ...head, headers })
    const chunks = [...this.#pieces.list]
    this.#setting.run.memory.give(this.#pieces.size)
    this.#pieces.clear()
    if (front !== undefined) chunks[0] = front
    return outlet.data(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  }

  #broke(error: unknown, trailers: HeaderLines | undefined): void {
    const { outlet, run } = this.#setting
    if (outlet.over) return
    run.options.listener.broke({ rule: '', fault: '', call: undefined }, error)
    if (!outlet.started) this.#pass()
    if (trailers !== undefined) outlet.end(trailers)
    else this.#setting.resumeApp()
  }

  async #response(trailers: HeaderLines): Promise<void> {
    const { run, outlet, coding, replies } = this.#setting
    const { size } = this.#pieces
    const { maxBody } = run.options
    const decoded = coding === 'identity' ? size : decodedLimit(size, maxBody)
    await heavyWork.wait(decoded)
    if (outlet.over) return
    const cost = readingCost(decoded)
    if (!run.memory.take(cost)) {
      this.#pass()
      outlet.end(trailers)
      return
    }
    const original = this.#pieces.joined()
    const body = decodeWhole(coding, original, maxBody)
    if (body !== original) await heavyWork.wait(decoded)
    if (outlet.over) return
    const message = body === undefined ? undefined : readMessage(body)
    if (body === undefined || message === 'too_complex') {
      await this.#unread(original, body === undefined ? 'unreadable' : 'too_complex', trailers)
      return
    }
    const whole = new AppFrame('body', body, message, true)
    run.memory.give(cost)
    run.memory.take(body.length + jsonWeight(whole.message))
    let out: readonly ChainFrame[] = [whole]
    if (run.exchange.actsOnResponse) out = await this.#through(run.exchange, whole)
    if (outlet.over || this.#replaced(out)) return
    const call = run.calls[0]
    if (run.shared || replies.length > 0) {
      const bytes = await changedBatch(this.#setting, joined(out), (own, frame) =>
        this.#through(own, frame),
      )
      if (outlet.over) return
      if (bytes !== undefined) {
        this.#send(bytes, true)
        return
      }
    } else if (call?.actsOnResponse === true) {
      const bytes = joined(out)
      const only = onlyElement(bytes)
      const said = out[0] === whole ? message : undefined
      const frame = new AppFrame('body', only ?? bytes, said, true)
      const after = await this.#through(call, frame)
      if (outlet.over || this.#replaced(after)) return
      if (after.length !== 1 || after[0] !== frame) {
        // A batch of one stays a batch.
        if (only === undefined) out = after
        else this.#send(jsonArray(after.map(({ raw }) => raw).filter(isThere)), false)
        if (outlet.over) return
      }
    }
    if (out[0] === whole && out.length === 1) {
      this.#pass()
      outlet.end(trailers)
    } else {
      this.#send(joined(out), false)
    }
  }

  /** True where the response has one call, and nothing else to carry. */
  get #isAlone(): boolean {
    const { run, replies } = this.#setting
    return !run.shared && replies.length === 0
  }

  /** Asks the faults that may replace a response without having it whole. */
  async #ask(): Promise<void> {
    const { run, outlet } = this.#setting
    for (const owner of run.all) {
      if (!owner.mayReplace || this.#passing) continue
      const out = await this.#through(owner, new UnreadFrame(new Uint8Array(0)))
      // The upstream may have broken off meanwhile, and the client got what was held.
      if (this.#passing || outlet.over) return
      if (this.#replaced(out)) {
        this.#setting.dropApp()
        return
      }
    }
    run.leaveResponse('too_large')
    const more = this.#pass()
    if (this.#ended !== undefined) outlet.end(this.#ended)
    else if (more) this.#setting.resumeApp()
  }

  /** A body that cannot be read: faults act on it that need not know what it says. */
  async #unread(
    original: Uint8Array,
    reason: NotApplicableReason,
    trailers: HeaderLines,
  ): Promise<void> {
    const { run, outlet, head } = this.#setting
    // Faults that take a body for one thing have no say on a stream.
    const whole = isStream(head)
      ? new UnreadFrame(original)
      : new AppFrame('body', original, undefined, true)
    for (const owner of this.#isAlone ? run.all : []) {
      const out = owner.actsOnResponse ? await this.#through(owner, whole) : []
      if (outlet.over || this.#replaced(out)) return
    }
    run.leaveResponse(reason)
    this.#pass()
    outlet.end(trailers)
  }

  /** One frame through one chain; what came out before a cut has been sent. */
  async #through(owner: CallRun, frame: AppFrame | UnreadFrame): Promise<readonly ChainFrame[]> {
    const { run } = this.#setting
    const message = frame instanceof AppFrame ? frame.message : undefined
    owner.appResponse = message
    const queue = new FrameQueue()
    queue.push(frame)
    queue.close()
    const flow = owner.chain(queue, (verdict) => unfit(owner.call, verdict, run.shared))
    const out: ChainFrame[] = []
    try {
      for (let step = await flow.next(); step.done !== true; step = await flow.next()) {
        out.push(step.value)
      }
    } catch (error) {
      if (!(error instanceof CutResponse)) throw error
      owner.madeOutcome = true
      this.#cut(out, error.how)
      return out
    }
    if (out.some((each) => each instanceof SealedFrame)) owner.madeOutcome = true
    else if (out.length !== 1 || out[0] !== frame) {
      const seen = owner === run.exchange && !run.shared ? (run.calls[0] ?? owner) : owner
      seen.appResponse = message
      await heavyWork.wait(frame.raw.length)
      seen.respondedBy(onlyMessage(joined(out)))
    }
    return out
  }

  /** Sends a reply that stands for the whole response; true when there was one. */
  #replaced(frames: readonly ChainFrame[]): boolean {
    const { run, outlet, head } = this.#setting
    const frame = frames.find((each) => each instanceof SealedFrame)
    if (frame?.reply === undefined) return false
    const { reply } = frame
    outlet.bypass()
    if (reply.kind === 'http') {
      const response = httpResponse(reply, run.options.request, run.marked, head.headers)
      outlet.head(response.head)
      outlet.data(response.bytes)
      outlet.end([])
    } else {
      const bytes = jsonBytes(replyMessage(reply, run.calls[0]!.call!))
      this.#send(run.options.batch ? jsonArray([bytes]) : bytes, true)
    }
    return true
  }

  /** A body of another make. One of messages that a fault gave needs a head that brings messages. */
  #send(bytes: Uint8Array, messages: boolean): void {
    const { run, outlet, head } = this.#setting
    const headers = headersForChangedBody(head.headers, bytes.length)
    const { status } = head
    if (messages && (status >= 300 || status === 202 || status === 204 || isStream(head))) {
      const lines = [...linesWithout(headers, isContentType), 'Content-Type', 'application/json']
      outlet.head({ status: 200, reason: 'OK', headers: lines })
      outlet.data(bytes)
    } else {
      outlet.head({ ...head, headers })
      if (!hasNoBody(run.options.request, status)) outlet.data(bytes)
    }
    outlet.end([])
  }

  #cut(out: readonly ChainFrame[], how: 'rst' | 'fin'): void {
    const { outlet, head, coding } = this.#setting
    if (out.length > 0) {
      // The length that was announced is what shows the client that something is missing.
      const headers = coding === 'identity' ? head.headers : headersForChangedBody(head.headers)
      outlet.head({ ...head, headers })
      for (const frame of out) outlet.data(frame.raw)
    }
    outlet.cut(how)
  }
}

function isContentType(name: string): boolean {
  return name === 'content-type'
}
