import { CutResponse } from '../../../filters/lib/cut-response.ts'
import { messageIn } from '../../../filters/lib/json/frame-json.ts'
import type { HeaderLines } from '../../../http/headers.ts'
import { asBuffer } from '../../../base/bytes.ts'
import { ByteList } from '../../../base/byte-list.ts'
import { jsonArray, jsonElements, withElementsInFront } from '../../../base/json/json-array.ts'
import { jsonWeight } from '../../../base/json/json-weight.ts'
import type { Failure } from '../../../http/transfer.ts'
import { HoldTimer } from '../../hold-watch.ts'
import { noteResponse } from '../../side-faults.ts'
import { decodeWhole, decodedLimit } from '../../../http/content-coding.ts'
import { heavyWork } from '../../../base/event-loop.ts'
import { pipeInputRequests } from './input-requests.ts'
import type { ResponseContext, ResponsePart } from './response-part.ts'
import { readingCost } from '../../../base/json/json-bounds.ts'
import { MAX_MESSAGES, type Message, parseMessages } from '../../../mcp/json-rpc.ts'
import { isResponse } from '../../../mcp/event-message.ts'
import { keepRead, readOf } from '../../../mcp/read-messages.ts'
import { asJson } from '../../../mcp/reply.ts'
import { type CallInjection, actsOnResponse } from '../call-injection.ts'
import { move, respondedBy } from '../call-state.ts'
import { hasMarkers, leaveResponse } from '../exchange-faults.ts'
import { NO_FAULT, type NotApplicableReason } from '../exchange-context.ts'
import { piped } from '../chain/fault-chain.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import {
  NOTHING,
  changedResponse,
  httpResponse,
  isStream,
  replyMessage,
} from '../emit/injected-response.ts'
import { type UpstreamFrame, type ChainFrame, upstreamFrame, isOpen } from '../chain/frame.ts'
import { checkVerdict } from '../../../rules/select/verdict-checks.ts'

/**
 * Holds a response until it is complete, and takes it through faults as one frame: those of the
 * exchange, then those of its call. In a batch each call's part is a frame.
 */
export class BodyResponse implements ResponsePart {
  readonly #context: ResponseContext
  readonly #pieces = new ByteList()
  /** Asking: faults are asked about a response that is too large to hold. */
  #state: 'held' | 'asking' | 'passing' = 'held'
  readonly #timer: HoldTimer | undefined
  /** The trailers of a response that has ended. */
  #trailers: HeaderLines | undefined

  constructor(context: ResponseContext) {
    this.#context = context
    const { faults } = context
    const late = (): void => {
      leaveResponse(faults, 'too_slow')
      this.#pass()
    }
    if (!context.whole)
      this.#timer = new HoldTimer(faults.options.parts.holdTimeout, () => this.#pieces.size, late)
  }

  data(chunk: Uint8Array): boolean {
    const { faults, outlet } = this.#context
    if (this.#state === 'passing') return outlet.data(chunk)
    this.#pieces.push(chunk)
    const isHeld = faults.exchange.memory.take(chunk.length)
    if (this.#state === 'asking') return false
    if (!isHeld) return this.#pass()
    if (this.#pieces.size <= faults.options.parts.maxBody) return true
    if (this.#isAlone && faults.all.some(({ mayReplace }) => mayReplace)) {
      this.#state = 'asking'
      this.#timer?.stop()
      void this.#ask().catch(this.#failed)
      return false
    }
    leaveResponse(faults, 'too_large')
    return this.#pass()
  }

  end(trailers: HeaderLines): void {
    this.#timer?.stop()
    noteResponse(this.#context.faults.options.exchange.entries)
    this.#trailers = trailers
    if (this.#state === 'passing') this.#context.outlet.end(trailers)
    else if (this.#state === 'held') void this.#pipeResponse().catch(this.#failed)
  }

  fail(failure: Failure): void {
    if (this.#state !== 'passing') this.#pass()
    this.#context.outlet.fail(failure)
  }

  resume(): void {
    if (this.#state === 'passing') this.#context.upstream.resume()
  }

  stop(): void {
    this.#timer?.stop()
    this.#pieces.clear()
  }

  /** Forwards the held bytes unchanged, and all further ones. */
  #pass(): boolean {
    const { outlet, head, replies, faults } = this.#context
    this.#state = 'passing'
    this.#timer?.stop()
    // The rest of a batch that is too large is not split: the faults' replies are put in front.
    const chunks = [...this.#pieces.list]
    const front =
      replies.length === 0 || chunks.length === 0 || head.status >= 300
        ? undefined
        : withElementsInFront(
            chunks[0]!,
            replies.map((reply) => asJson(reply).bytes),
          )
    const sent =
      front === undefined ? head : { ...head, headers: headersForChangedBody(head.headers) }
    outlet.head(sent, this.#trailers !== undefined)
    faults.exchange.memory.give(this.#pieces.size)
    this.#pieces.clear()
    if (front !== undefined) chunks[0] = front
    const more = outlet.data(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    if (this.#trailers !== undefined) outlet.end(this.#trailers)
    return more
  }

  readonly #failed = (error: unknown): void => {
    const { outlet, faults, upstream } = this.#context
    if (outlet.ended) return
    if (error instanceof CutResponse) return outlet.cut(error.how)
    faults.options.listener.failed(NO_FAULT, error)
    if (!outlet.started) this.#pass()
    else if (this.#trailers !== undefined) outlet.end(this.#trailers)
    if (this.#trailers === undefined) upstream.resume()
  }

  /** Takes the whole response through its faults. */
  async #pipeResponse(): Promise<void> {
    const { faults, outlet, coding } = this.#context
    const { options, exchange, calls, planned } = faults
    const { memory } = exchange
    const { size } = this.#pieces
    const { maxBody } = options.parts
    const decoded = coding === 'identity' ? size : decodedLimit(size, maxBody)
    const heavy = heavyWork.wait(decoded)
    if (heavy !== undefined) await heavy
    if (outlet.ended) return
    const cost = readingCost(decoded)
    if (!memory.take(cost)) return void this.#pass()
    const original = this.#pieces.joined()
    const body = decodeWhole(coding, original, maxBody)
    if (body !== original) await heavyWork.wait(decoded)
    if (outlet.ended) return
    const read = body === undefined ? 'unreadable' : readMessages(body)
    if (body === undefined || typeof read === 'string') {
      return this.#unread(original, read as NotApplicableReason)
    }
    const whole = upstreamFrame('body', body, read.length === 1 ? read[0] : undefined, true)
    memory.give(cost)
    memory.take(body.length + jsonWeight(whole.message))
    const asked = planned.messagePlanner && (await pipeInputRequests(faults, whole))
    let out = asked === undefined ? whole : this.#only(asked)
    for (const owner of this.#isAlone ? [exchange, ...calls] : [exchange]) {
      if (out !== undefined && actsOnResponse(owner)) out = await this.#taken(owner, out)
    }
    const parts =
      out === undefined || this.#isAlone
        ? undefined
        : await this.#changedBatch(out.raw, out === whole ? read : undefined)
    if (out === undefined || outlet.ended) return
    if (parts !== undefined) this.#send(parts, true)
    else if (out === whole) this.#pass()
    else this.#send(out.raw, false)
  }

  /**
   * Pipes each call's part of a batch through the call's faults; returns undefined when nothing
   * changed. `messages` are those of the body, where they are known.
   */
  async #changedBatch(
    body: Uint8Array,
    messages: readonly Message[] | undefined,
  ): Promise<Uint8Array | undefined> {
    const { faults, replies, head } = this.#context
    const elements = jsonElements(body) ?? (body.length === 0 ? [] : [body])
    const own = head.status < 300 ? replies.map((reply) => asJson(reply).bytes) : []
    let changed = own.length > 0
    // A batch of calls is never this long, so these are not all responses.
    const tooMany = elements.length > MAX_MESSAGES
    if (tooMany) leaveResponse(faults, 'too_complex')
    const part = async (raw: Uint8Array, index: number): Promise<readonly Uint8Array[]> => {
      const message =
        messages?.length === elements.length ? messages[index] : messageIn(asBuffer(raw).toString())
      const id = isResponse(message) ? message.id : undefined
      const owner = faults.calls.find(({ call }) => call!.id === id)
      if (owner === undefined || !actsOnResponse(owner)) return [raw]
      const frame = upstreamFrame('body', raw, message, true)
      const out = await this.#through(owner, frame)
      if (out.length !== 1 || out[0] !== frame) changed = true
      return out.map((piece) => replyBytes(owner, piece) ?? piece.raw)
    }
    const parts = await Promise.all(tooMany ? [] : elements.map(part))
    if (!changed) return undefined
    const rest = tooMany ? elements : parts.flat().filter((element) => element.length > 0)
    return jsonArray(own.concat(rest))
  }

  /**
   * Pipes the body through one chain of faults; returns undefined when they ended the response. A
   * call's batch of one stays a batch.
   */
  async #taken(owner: CallInjection, body: UpstreamFrame): Promise<UpstreamFrame | undefined> {
    const elements = owner.call && body.message && jsonElements(body.raw)
    const frame = elements === undefined ? body : { ...body, raw: elements[0]! }
    const after = this.#only(await this.#through(owner, frame))
    if (after === undefined || after === frame) return after && body
    if (elements === undefined) return after
    return { ...after, raw: jsonArray(after.raw.length === 0 ? [] : [after.raw]) }
  }

  /** Returns the frames as one; undefined when the response has ended, or has been replaced. */
  #only(frames: readonly ChainFrame[]): UpstreamFrame | undefined {
    if (this.#context.outlet.ended || this.#replaced(frames)) return undefined
    const [first] = frames
    if (frames.length === 1 && isOpen(first!)) return first
    const bytes = joined(frames)
    return upstreamFrame('body', bytes, onlyMessage(bytes), true)
  }

  /** True when the response has one call and no replies. */
  get #isAlone(): boolean {
    const { faults, replies } = this.#context
    return !faults.shared && replies.length === 0
  }

  /** Asks the faults that may replace a response without its whole body. */
  async #ask(): Promise<void> {
    const { faults, outlet, upstream } = this.#context
    for (const owner of faults.all) {
      // The upstream may have failed meanwhile, and the client has the held bytes.
      if (!owner.mayReplace || this.#state === 'passing') continue
      const out = await this.#through(owner, { kind: 'unread', raw: NOTHING })
      if (outlet.ended) return
      if (this.#state === 'asking' && this.#replaced(out)) return upstream.drop()
    }
    if (this.#state === 'passing') return
    leaveResponse(faults, 'too_large')
    if (this.#pass() && this.#trailers === undefined) upstream.resume()
  }

  /** Handles an unreadable body: only faults that do not need its content act on it. */
  async #unread(original: Uint8Array, reason: NotApplicableReason): Promise<void> {
    const { faults, outlet, head } = this.#context
    // Faults that act on a whole body do not act on a stream.
    const whole = isStream(head)
      ? ({ kind: 'unread', raw: original } as const)
      : upstreamFrame('body', original, undefined, true)
    for (const owner of this.#isAlone ? faults.all : []) {
      const out = actsOnResponse(owner) ? await this.#through(owner, whole) : []
      if (outlet.ended || this.#replaced(out)) return
    }
    leaveResponse(faults, reason)
    this.#pass()
  }

  /** Pipes one frame through one chain; frames before a cut are sent at once. */
  async #through(owner: CallInjection, frame: ChainFrame): Promise<readonly ChainFrame[]> {
    const { faults } = this.#context
    const { message } = frame
    owner.upstreamResponse = message
    const out: ChainFrame[] = []
    try {
      await piped(owner, frame, out, (verdict) => checkVerdict(owner.call, verdict, faults.shared))
    } catch (error) {
      if (!(error instanceof CutResponse)) throw error
      move(owner, 'changes')
      this.#cut(out, error.how)
      return out
    }
    if (out.some(({ kind }) => kind === 'sealed')) move(owner, 'changes')
    else if (out.length !== 1 || out[0] !== frame) {
      const seen = owner === faults.exchange && !faults.shared ? (faults.calls[0] ?? owner) : owner
      seen.upstreamResponse = message
      const heavy = heavyWork.wait(frame.raw.length)
      if (heavy !== undefined) await heavy
      const [only] = out.length === 1 ? out : []
      respondedBy(seen, only?.message ?? onlyMessage(joined(out)))
    }
    return out
  }

  /** Sends a reply that replaces the whole response; returns true when there is one. */
  #replaced(frames: readonly ChainFrame[]): boolean {
    const { faults, outlet, head } = this.#context
    const reply = frames.find(({ kind }) => kind === 'sealed')?.reply
    if (reply === undefined) return false
    outlet.bypass()
    if (reply.kind === 'http') {
      outlet.whole(
        httpResponse(reply, faults.options.exchange.head, hasMarkers(faults), head.headers),
      )
    } else {
      const bytes = asJson(replyMessage(reply, faults.calls[0]!.call!)).bytes
      this.#send(faults.options.exchange.posted!.batch ? jsonArray([bytes]) : bytes, true)
    }
    return true
  }

  #send(bytes: Uint8Array, areReplies: boolean): void {
    const { faults, outlet, head } = this.#context
    outlet.whole(changedResponse(head, bytes, areReplies, faults.options.exchange.head))
  }

  #cut(out: readonly ChainFrame[], how: 'rst' | 'fin'): void {
    const { outlet, head, coding } = this.#context
    if (out.length > 0) {
      // The declared length shows the client that bytes are missing.
      const headers = coding === 'identity' ? head.headers : headersForChangedBody(head.headers)
      outlet.head({ ...head, headers })
      for (const frame of out) outlet.data(frame.raw)
    }
    outlet.cut(how)
  }
}

/** Returns the message of a body with one message. */
function onlyMessage(body: Uint8Array): Message | undefined {
  const messages = readMessages(body)
  return typeof messages !== 'string' && messages.length === 1 ? messages[0] : undefined
}

/** Returns the messages of a body, none for a body without any, or `too_complex`. */
function readMessages(body: Uint8Array): readonly Message[] | 'too_complex' {
  const known = readOf(body)
  if (known !== undefined) return known.messages
  const parsed = parseMessages(asBuffer(body).toString())
  if (parsed.ok) {
    keepRead(body, parsed)
    return parsed.messages
  }
  return parsed.reason === 'too_complex' ? parsed.reason : []
}

/** Joins the bytes of several frames. */
function joined(frames: readonly { readonly raw: Uint8Array }[]): Uint8Array {
  return frames.length === 1 ? frames[0]!.raw : Buffer.concat(frames.map(({ raw }) => raw))
}

/** Encodes the reply of a frame; returns undefined when it has none. */
function replyBytes({ call }: CallInjection, { reply }: ChainFrame): Uint8Array | undefined {
  if (reply === undefined || reply.kind === 'http' || call === undefined) return undefined
  return asJson(replyMessage(reply, call)).bytes
}
