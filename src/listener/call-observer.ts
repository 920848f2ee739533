import { asBuffer } from '../base/bytes.ts'
import { type Origin, type Outcome, sharesStream } from '../mcp/call.ts'
import { responseFactsOf, declaredLength } from '../http/response-facts.ts'
import type { ChunkRun } from '../http/chunk-run.ts'
import type { ForeignMark } from '../http/foreign-markers.ts'
import { headerValue, type ResponseHead } from '../http/headers.ts'
import { retryAfterOf } from '../http/http-date.ts'
import { eachResponse, type ResponseMessage } from '../mcp/event-message.ts'
import { signIn } from '../mcp/event-signs.ts'
import { endingsOfJsonBody, type OnResponse, type ReadBody } from '../mcp/body-outcome.ts'
import { outlineOf } from '../mcp/outline.ts'
import { readingCost } from '../base/json/json-bounds.ts'
import { MAX_RESULT } from './falsified/false-values.ts'
import { ByteList } from '../base/byte-list.ts'
import { hasToolResult } from '../mcp/task-tools.ts'
import { isModern } from '../mcp/protocol-version.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import type { SseFrame } from '../mcp/sse-framer.ts'
import type { Failure } from '../http/transfer.ts'
import type { CallEntry } from './call-entry.ts'
import type { Explained } from './ended-call.ts'
import { unreadOutcome } from './faults/call-outcome.ts'
import { decodedLimit, decodeWhole, type Coding } from '../http/content-coding.ts'
import { heavyWork } from '../base/event-loop.ts'
import type { StackParts } from './layers/stack-parts.ts'
import { type InFlightRequests, PARSED, type RawText } from './in-flight-requests.ts'
import type { Observer } from './observer.ts'
import { SseWatch } from './sse-watch.ts'

/** Observes the response to a POST with calls, and settles each call. */
export class CallObserver implements Observer {
  readonly #parts: StackParts
  readonly #entries: readonly CallEntry[]
  readonly #session: string
  /** The message that begins a session; undefined for other calls. */
  readonly #initialize: PostedMessages | undefined
  #status = 0
  #coding: Coding = 'identity'
  #watch: SseWatch | undefined
  #sawEventIds = false
  /** The mark of the current event. */
  #mark: ForeignMark = 0
  /** The current event, where it was not parsed. */
  #unparsed: SseFrame | undefined
  readonly #pieces = new ByteList()
  /** The bytes of the response so far. */
  #size = 0
  /** True when the bytes are too many to keep. */
  #isUnread = false

  constructor(
    parts: StackParts,
    posted: PostedMessages,
    entries: readonly CallEntry[],
    session: string,
  ) {
    this.#parts = parts
    this.#entries = entries
    this.#session = session
    if (posted.calls[0]?.method === 'initialize') this.#initialize = posted
  }

  get behind(): boolean {
    return this.#parts.memory.isBehind(this.#watch?.unread ?? this.#pieces.size)
  }

  head(head: ResponseHead): void {
    this.#status = head.status
    if (this.#initialize !== undefined) this.#sessionBegins(head, this.#initialize)
    if (head.status >= 400) this.#noteRetryAfter(head)
    const { coding, streams, mark } = responseFactsOf(head)
    if (mark > 0) this.#note(mark)
    this.#coding = coding
    // A response that will be too large is not kept.
    if (declaredLength(head) > this.#parts.maxBody) this.#isUnread = true
    if (head.status >= 300 || !streams) return
    this.#parts.telemetry.gauge('request_streams', 1)
    this.#watch = new SseWatch(
      this.#coding,
      this.#parts.maxBody,
      (text, from) => signIn(text, from, !this.#sawEventIds),
      (frame, before) => this.#event(frame, before),
      this.#parts.memory,
    )
  }

  /** Stores the client of a new session. */
  #sessionBegins({ headers, status }: ResponseHead, posted: PostedMessages): void {
    const id = headerValue(headers, 'mcp-session-id') ?? this.#session
    if (status >= 300 || id === '') return
    const { client, protocolVersion } = posted
    const first = this.#entries[0]!
    const { transport } = first.call
    this.#parts.sessions.began(first, id, { client, protocolVersion, transport })
  }

  #note(mark: ForeignMark): void {
    const believed = this.#parts.markers.believed(mark)
    for (const entry of this.#entries) entry.mark = Math.max(entry.mark, believed)
  }

  #noteRetryAfter({ headers }: ResponseHead): void {
    const value = headerValue(headers, 'retry-after')
    const wait = value === undefined ? undefined : retryAfterOf(value, Date.now())
    if (wait !== undefined) for (const entry of this.#entries) entry.retryAfter = wait
  }

  data(chunk: Uint8Array): void {
    if (this.#watch !== undefined) {
      this.#watch.push(chunk)
      return
    }
    const { maxBody: limit, memory } = this.#parts
    this.#size += chunk.length
    if (this.#isUnread) return
    if (this.#size <= limit && memory.take(chunk.length)) {
      this.#pieces.push(chunk)
      return
    }
    if (this.#size <= limit) memory.pressure.response_unread++
    this.#isUnread = true
    this.#release()
  }

  chunks(run: ChunkRun): void {
    if (this.#watch !== undefined) this.#watch.chunks(run)
    else run.each((chunk) => this.data(chunk))
  }

  end(): void {
    const watch = this.#watch
    if (watch === undefined) {
      heavyWork.run(this.#pieces.size, () => this.#responded())
      return
    }
    this.#streamEnded()
    // Unread events may have contained the response.
    watch.end(() =>
      watch.missed ? this.#settleUnread(watch.missedBytes) : this.#close('incomplete'),
    )
  }

  fail(failure: Failure): void {
    const outcome = failure.kind === 'reset' || this.#status === 0 ? 'reset' : 'incomplete'
    // On any transport, a client whose POST got no status expects no response.
    if (this.#status === 0) this.settle(outcome, 'real', { message: failure.message })
    else this.#cut(outcome, failure)
  }

  gone(): void {
    this.#cut('abandoned')
  }

  settle(outcome: Outcome, origin: Origin, error: Explained): void {
    const { inFlight } = this.#parts
    for (const entry of this.#entries) inFlight.settle(entry, outcome, origin, undefined, error)
  }

  #release(): void {
    this.#parts.memory.give(this.#pieces.size)
    this.#pieces.clear()
  }

  /** Closes the calls of a cut response, which may have contained whole events. */
  #cut(outcome: Outcome, failure?: Failure): void {
    const watch = this.#watch
    if (watch === undefined) {
      this.#release()
      this.#close(outcome, failure)
      return
    }
    this.#streamEnded()
    watch.end(() => this.#close(outcome, failure))
  }

  #streamEnded(): void {
    this.#watch = undefined
    this.#parts.telemetry.gauge('request_streams', -1)
  }

  #event(frame: SseFrame, mark: ForeignMark): void {
    if (frame.id !== undefined) this.#sawEventIds = true
    this.#mark = mark
    // The stream may end behind a marker, without a response.
    if (mark > 0 && this.#entries.length === 1) this.#note(mark)
    this.#unparsed = frame.outline && frame
    eachResponse(frame, this.#onResponse)
  }

  readonly #onResponse = (message: ResponseMessage, bytes: number): void => {
    const { id } = message
    if (id === null) return
    const entry =
      this.#entries.find((own) => !own.settled && own.call.id === id) ??
      this.#parts.inFlight.calls.find(this.#session, id)
    if (entry === undefined) return
    const raw = rawTextOf(this.#unparsed)
    this.#parts.inFlight.settleResponse(entry, message, bytes, this.#mark, raw)
  }

  /** Settles the calls by a complete response that is not a stream. */
  #responded(): void {
    const entries = this.#entries
    // HTTP+SSE servers respond with 202, some with 200: both only accept the call.
    if (sharesStream(entries[0]?.call.transport) && this.#status < 300) {
      this.#release()
      this.#close('incomplete')
      return
    }
    const calls = entries.map((entry) => entry.call)
    const outline = this.#outline()
    const body = outline ?? this.#body()
    const list = outline && [...this.#pieces.list]
    this.#release()
    // A body that is too large, or has an unknown coding: only the status decides.
    if (body === undefined && this.#size > 0 && mayResponse(this.#status)) {
      this.#settleUnread(this.#size)
      return
    }
    // A body that is too complex to read may hold the result of the only call.
    const sizes = entries.map(() => (entries.length === 1 ? body?.length : undefined))
    const found: OnResponse = (at, message, bytes) => {
      const entry = entries[at]!
      this.#parts.inFlight.learn(entry, message, rawText(list, bytes))
      sizes[at] = hasToolResult(entry.call, message) ? bytes : undefined
    }
    const endings = endingsOfJsonBody(calls, this.#status, body ?? '', found)
    for (let i = 0; i < entries.length; i++) {
      const { outcome, error } = endings[i]!
      this.#parts.inFlight.settle(entries[i]!, outcome, 'real', sizes[i], error)
    }
  }

  /** Reads a large successful body in its pieces; undefined where a parser should read it. */
  #outline(): ReadBody | undefined {
    if (this.#isUnread || this.#coding !== 'identity' || !mayResponse(this.#status))
      return undefined
    const { list, size: length } = this.#pieces
    const read = outlineOf(list, length)
    return read && { length, read }
  }

  /** Returns the decoded body; undefined when it cannot be read. */
  #body(): Uint8Array | undefined {
    const { maxBody: limit, memory } = this.#parts
    const { size } = this.#pieces
    if (this.#isUnread) return undefined
    const isCoded = this.#coding !== 'identity'
    const cost = readingCost(isCoded ? decodedLimit(size, limit) : size)
    if (!memory.take(cost)) {
      memory.pressure.response_unread++
      return undefined
    }
    // Decoding is synchronous: the memory is only checked, not held.
    memory.give(cost)
    return decodeWhole(this.#coding, this.#pieces.joined(), limit)
  }

  #settleUnread(size: number): void {
    const bytes = this.#entries.length === 1 && size > 0 ? size : undefined
    for (const entry of this.#entries) settleUnread(this.#parts.inFlight, entry, bytes)
  }

  /** Closes the open calls, or leaves them to another connection where the protocol allows one. */
  #close(outcome: Outcome, failure?: Failure): void {
    for (const entry of this.#entries) {
      if (entry.settled) continue
      const { transport, protocolVersion } = entry.call
      const elsewhere = sharesStream(transport) || (this.#sawEventIds && !isModern(protocolVersion))
      if (elsewhere) this.#parts.inFlight.leaveOpen(entry, outcome)
      else
        this.#parts.inFlight.settle(
          entry,
          outcome,
          'real',
          undefined,
          failure && { message: failure.message },
        )
    }
  }
}

/** Settles a call with an unread response, which counts as ok unless a fault set its outcome. */
export function settleUnread(inFlight: InFlightRequests, entry: CallEntry, bytes?: number): void {
  const { faults, call } = entry
  const outcome = faults === undefined ? 'ok' : unreadOutcome(faults, call)
  inFlight.settle(entry, outcome, 'real', bytes)
}

/** Returns the text of a large response when it is asked for, up to a bound. */
function rawText(pieces: readonly Uint8Array[] | undefined, size: number): RawText {
  if (pieces === undefined || size > MAX_RESULT) return PARSED
  return () => Buffer.concat(pieces).toString()
}

/** Returns the text of an event that was not parsed. */
export function rawTextOf(frame: SseFrame | undefined): RawText {
  if (frame === undefined || frame.size > MAX_RESULT) return PARSED
  // Joins the pieces of the event only if the text is read.
  return () => asBuffer(frame.raw).toString()
}

/** Returns false for statuses whose body is not a response. */
function mayResponse(status: number): boolean {
  return status < 300 && status !== 202 && status !== 204
}
