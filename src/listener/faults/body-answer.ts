import { CutAnswer } from '../../filters/cut-answer.ts'
import { linesWithout, type HeaderLines } from '../../mcp/http.ts'
import { Pieces } from '../../mcp/pieces.ts'
import { isTooComplex, readingCost } from '../../mcp/json-bounds.ts'
import { jsonWeight } from '../../mcp/json-weight.ts'
import { MAX_MESSAGES } from '../../mcp/json-rpc.ts'
import { asJson, type Reply } from '../../mcp/reply.ts'
import type { Failure } from '../../mcp/transfer.ts'
import { HoldTimer } from '../hold-watch.ts'
import { decodedLimit, decodeWhole } from '../content-coding.ts'
import { heavyWork } from '../heavy-work.ts'
import type { AnswerPart, AnswerSetting } from './answer-part.ts'
import { messageIn, onlyElement, onlyMessage, textOf } from './body-messages.ts'
import type { CallRun } from './call-run.ts'
import type { NotApplicableReason } from './fault-events.ts'
import { FrameQueue } from './frame-queue.ts'
import { forChangedBody } from '../../mcp/changed-body.ts'
import { hasNoBody, httpAnswer, replyMessage } from './injected-answer.ts'
import { jsonArray, jsonElements, withElementsInFront } from './json-array.ts'
import { AppFrame, SealedFrame, type LaneFrame } from './lane-frame.ts'
import { unfit } from './unfit.ts'

/** An answer that is one body: held until it is whole, so that faults can take it for one thing. */
export class BodyAnswer implements AnswerPart {
  readonly #setting: AnswerSetting
  readonly #pieces = new Pieces()
  #passing = false
  readonly #timer: HoldTimer

  constructor(setting: AnswerSetting) {
    this.#setting = setting
    const { run } = setting
    const late = (): void => {
      run.leaveAnswer('too_slow')
      this.#pass()
    }
    this.#timer = new HoldTimer(run.options.holdTimeout, () => this.#pieces.size, late)
  }

  data(chunk: Uint8Array): boolean {
    const { run, outlet } = this.#setting
    if (this.#passing) return outlet.data(chunk)
    this.#pieces.push(chunk)
    if (!run.memory.take(chunk.length)) return this.#pass()
    if (this.#pieces.size <= run.options.maxBody) return true
    run.leaveAnswer('too_large')
    return this.#pass()
  }

  end(trailers: HeaderLines): void {
    this.#timer.stop()
    this.#setting.run.options.onAnswered?.(undefined)
    if (this.#passing) this.#setting.outlet.end(trailers)
    else void this.#answer(trailers).catch((error: unknown) => this.#broke(error, trailers))
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
    const headers = front === undefined ? head.headers : forChangedBody(head.headers)
    outlet.head({ ...head, headers })
    const chunks = [...this.#pieces.list]
    this.#setting.run.memory.give(this.#pieces.size)
    this.#pieces.clear()
    if (front !== undefined) chunks[0] = front
    return outlet.data(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  }

  #broke(error: unknown, trailers: HeaderLines): void {
    const { outlet, run } = this.#setting
    if (outlet.over) return
    run.options.listener.broke({ rule: '', fault: '', call: undefined }, error)
    if (!outlet.started) this.#pass()
    outlet.end(trailers)
  }

  async #answer(trailers: HeaderLines): Promise<void> {
    const { run, outlet, coding, replies } = this.#setting
    const { size } = this.#pieces
    const { maxBody } = run.options
    const decoded = coding === 'identity' ? size : decodedLimit(size, maxBody)
    await heavyWork.turn(decoded)
    if (outlet.over) return
    const cost = readingCost(decoded)
    if (!run.memory.take(cost)) {
      this.#pass()
      outlet.end(trailers)
      return
    }
    const original = this.#pieces.joined()
    const body = decodeWhole(coding, original, maxBody)
    if (body === undefined || isTooComplex(textOf(body))) {
      await this.#unread(original, body === undefined ? 'unreadable' : 'too_complex', trailers)
      return
    }
    const whole = new AppFrame('body', body, onlyMessage(body), true)
    run.memory.give(cost)
    run.memory.take(body.length + jsonWeight(whole.message))
    let out: readonly LaneFrame[] = [whole]
    if (run.exchange.actsOnAnswer) out = await this.#through(run.exchange, whole)
    if (outlet.over || this.#replaced(out)) return
    const call = run.calls[0]
    if (run.shared || replies.length > 0) {
      const bytes = await this.#batch(joined(out))
      if (outlet.over) return
      if (bytes !== undefined) {
        this.#send(bytes, true)
        return
      }
    } else if (call?.actsOnAnswer === true) {
      const bytes = joined(out)
      const only = onlyElement(bytes)
      const message = out[0] === whole ? whole.message : undefined
      const frame = new AppFrame('body', only ?? bytes, message, true)
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

  /** A body that cannot be read: faults act on it that need not know what it says. */
  async #unread(
    original: Uint8Array,
    reason: NotApplicableReason,
    trailers: HeaderLines,
  ): Promise<void> {
    const { run, outlet, replies } = this.#setting
    const whole = new AppFrame('body', original, undefined, true)
    const alone = !run.shared && replies.length === 0
    for (const owner of alone ? run.all : []) {
      const out = owner.actsOnAnswer ? await this.#through(owner, whole) : []
      if (outlet.over || this.#replaced(out)) return
    }
    run.leaveAnswer(reason)
    this.#pass()
    outlet.end(trailers)
  }

  /** The part of each call through the call's own faults; undefined when all is as it was. */
  async #batch(body: Uint8Array): Promise<Uint8Array | undefined> {
    const { run, replies, head } = this.#setting
    const elements = jsonElements(body) ?? (body.length === 0 ? [] : [body])
    let changed = replies.length > 0 && head.status < 300
    // No batch of calls is as long, so that these cannot all be responses to them.
    const tooMany = elements.length > MAX_MESSAGES
    if (tooMany) run.leaveAnswer('too_complex')
    const parts = await Promise.all(
      (tooMany ? [] : elements).map(async (raw): Promise<readonly Uint8Array[]> => {
        const message = messageIn(raw)
        const id = message?.kind === 'result' || message?.kind === 'error' ? message.id : undefined
        const own = run.calls.find(({ call }) => call!.id === id)
        if (own?.actsOnAnswer !== true) return [raw]
        const frame = new AppFrame('body', raw, message, true)
        const out = await this.#through(own, frame)
        if (out.length !== 1 || out[0] !== frame) changed = true
        return out.map((piece) => replyBytes(own, piece) ?? piece.raw)
      }),
    )
    if (!changed) return undefined
    const own = head.status < 300 ? replies.map((reply) => jsonBytes(reply)) : []
    const rest = tooMany ? elements : parts.flat().filter((element) => element.length > 0)
    return jsonArray(own.concat(rest))
  }

  /** One frame through one chain; what came out before a cut has been sent. */
  async #through(owner: CallRun, frame: AppFrame): Promise<readonly LaneFrame[]> {
    const { run } = this.#setting
    owner.appAnswer = frame.message
    const queue = new FrameQueue()
    queue.push(frame)
    queue.close()
    const flow = owner.chain(queue, (verdict) => unfit(owner.call, verdict, run.shared))
    const out: LaneFrame[] = []
    try {
      for (let step = await flow.next(); step.done !== true; step = await flow.next()) {
        out.push(step.value)
      }
    } catch (error) {
      if (!(error instanceof CutAnswer)) throw error
      owner.madeOutcome = true
      this.#cut(out, error.how)
      return out
    }
    if (out.some((each) => each instanceof SealedFrame)) owner.madeOutcome = true
    else if (out.length !== 1 || out[0] !== frame) {
      const seen = owner === run.exchange && !run.shared ? (run.calls[0] ?? owner) : owner
      seen.appAnswer = frame.message
      seen.answeredBy(onlyMessage(joined(out)))
    }
    return out
  }

  /** Sends a reply that stands for the whole answer; true when there was one. */
  #replaced(frames: readonly LaneFrame[]): boolean {
    const { run, outlet, head } = this.#setting
    const frame = frames.find((each) => each instanceof SealedFrame)
    if (frame?.reply === undefined) return false
    const { reply } = frame
    outlet.bypass()
    if (reply.kind === 'http') {
      const answer = httpAnswer(reply, run.options.request, run.marked, head.headers)
      outlet.head(answer.head)
      outlet.data(answer.bytes)
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
    const headers = forChangedBody(head.headers, bytes.length)
    const { status } = head
    if (messages && (status >= 300 || status === 202 || status === 204)) {
      const lines = [...linesWithout(headers, isContentType), 'Content-Type', 'application/json']
      outlet.head({ status: 200, reason: 'OK', headers: lines })
      outlet.data(bytes)
    } else {
      outlet.head({ ...head, headers })
      if (!hasNoBody(run.options.request, status)) outlet.data(bytes)
    }
    outlet.end([])
  }

  #cut(out: readonly LaneFrame[], how: 'rst' | 'fin'): void {
    const { outlet, head, coding } = this.#setting
    if (out.length > 0) {
      // The length that was announced is what shows the client that something is missing.
      const headers = coding === 'identity' ? head.headers : forChangedBody(head.headers)
      outlet.head({ ...head, headers })
      for (const frame of out) outlet.data(frame.raw)
    }
    outlet.cut(how)
  }
}

function isContentType(name: string): boolean {
  return name === 'content-type'
}

function isThere({ length }: Uint8Array): boolean {
  return length > 0
}

function joined(frames: readonly LaneFrame[]): Uint8Array {
  return frames.length === 1 ? frames[0]!.raw : Buffer.concat(frames.map(({ raw }) => raw))
}

function jsonBytes(reply: Reply): Uint8Array {
  return asJson(reply).bytes
}

/** What a reply in a frame's place says; undefined when there is none. */
function replyBytes({ call }: CallRun, frame: LaneFrame): Uint8Array | undefined {
  const reply = frame instanceof SealedFrame ? frame.reply : undefined
  if (reply === undefined || reply.kind === 'http' || call === undefined) return undefined
  return jsonBytes(replyMessage(reply, call))
}
