import { digest } from '../../base/digest.ts'
import { ByteList } from '../../base/byte-list.ts'
import type { ChunkRun } from '../../http/chunk-run.ts'
import { type Coding, codingOf, decodeWhole } from '../../http/content-coding.ts'
import { type HeaderLines, headerValue, type ResponseHead } from '../../http/headers.ts'
import { responseFactsOf } from '../../http/response-facts.ts'
import type { Failure, ResponseSink } from '../../http/transfer.ts'
import { endpointKey } from '../../mcp/endpoints.ts'
import { parseMessages } from '../../mcp/json-rpc.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import type { SseFrame } from '../../mcp/sse-framer.ts'
import type { TapeLine } from '../../telemetry/tape-line.ts'
import type { TapeRecorder } from '../../telemetry/tape.ts'
import { SseWatch } from '../sse-watch.ts'
import type { Layer, Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

/** Records what passes between the clients and the upstream, and changes nothing. */
export function taped(p: StackParts): Layer<Service<Outgoing>> {
  const { tape } = p
  return (inner) => {
    if (tape === undefined) return inner
    return {
      send(request, sink) {
        const { body, entries = [] } = request
        if (tape.hasEnded) {
          tape.drop(Number(body !== null) + Number(entries.length > 0))
          return inner.send(request, sink)
        }
        const own = new TapedSink(p, tape, request, sink)
        const transfer = inner.send(request, own)
        const abort = (): void => {
          own.release()
          transfer.abort()
        }
        return { resume: () => transfer.resume(), abort }
      },
    }
  }
}

/** Returns true for a body with a call, also for one whose values nest too deeply to be planned. */
function mayCall(text: string): boolean {
  const parsed = parseMessages(text)
  if (!parsed.ok) return parsed.reason === 'too_complex'
  return parsed.messages.some(({ kind }) => kind === 'request')
}

/** Passes a response on, and records its messages. */
class TapedSink implements ResponseSink {
  readonly chunks?: (run: ChunkRun) => boolean
  readonly #parts: StackParts
  readonly #tape: TapeRecorder
  readonly #sink: ResponseSink
  readonly #target: string
  readonly #exchange: number
  /** True for a POST with a call, and for a stream. */
  #isCall: boolean
  #via: 'json' | 'sse' | 'stream'
  #session: string | undefined
  #head: ResponseHead | undefined
  #watch: SseWatch | undefined
  readonly #pieces = new ByteList()
  #size = 0

  constructor(
    p: StackParts,
    tape: TapeRecorder,
    { head, body, entries = [] }: Outgoing,
    sink: ResponseSink,
  ) {
    this.#parts = p
    this.#tape = tape
    this.#sink = sink
    this.#target = head.target
    this.#exchange = tape.exchange()
    const { kind, session, coding, protocolVersion } = factsOf(head)
    this.#session = p.sessions.endpoints.lookup(head.target) ?? session
    this.#via = kind === 'stream' ? 'stream' : 'json'
    this.#isCall = entries.length > 0 || kind === 'stream'
    if (kind === 'post') {
      const text = body instanceof Uint8Array ? this.#text(body, codingOf(coding)) : undefined
      const line = this.#line('client', { protocolVersion })
      this.#isCall ||= text !== undefined && mayCall(text)
      if (text !== undefined) tape.take(line, text)
      else if (body !== null) tape.take({ ...line, omitted: 'unreadable' })
    }
    if (sink.chunks !== undefined) this.chunks = (run) => this.#chunks(run)
  }

  info(head: ResponseHead): void {
    this.#sink.info(head)
  }

  head(head: ResponseHead, whole?: boolean): void {
    this.#sink.head(head, whole)
    this.#head = head
    // The response to initialize begins a session.
    this.#session ??= headerValue(head.headers, 'mcp-session-id')
    const { coding, streams } = responseFactsOf(head)
    if (head.status >= 300 || !streams) return
    if (this.#via === 'json') this.#via = 'sse'
    const { maxBody, memory } = this.#parts
    const onFrame = (frame: SseFrame): void => this.#event(frame)
    this.#watch = new SseWatch(coding, maxBody, () => 0, onFrame, memory)
  }

  data(chunk: Uint8Array): boolean {
    const more = this.#sink.data(chunk)
    this.#take(chunk)
    return more
  }

  end(trailers: HeaderLines): void {
    this.#sink.end(trailers)
    if (this.#watch === undefined) this.#whole()
    else this.#watch.end(() => this.#recordMissed())
  }

  fail(failure: Failure): void {
    this.#sink.fail(failure)
    this.release(() => {
      if (this.#isCall) this.#record({ failed: failure.kind })
    })
  }

  /** Drops what is held of a response; calls `done` behind its last message. */
  release(done: () => void = () => undefined): void {
    this.#parts.memory.give(this.#pieces.size)
    this.#pieces.clear()
    const watch = this.#watch
    this.#watch = undefined
    if (watch === undefined) done()
    else watch.end(done)
  }

  #chunks(run: ChunkRun): boolean {
    const more = this.#sink.chunks!(run)
    if (this.#watch !== undefined) this.#watch.chunks(run)
    else run.each((chunk) => this.#take(chunk))
    return more
  }

  #take(chunk: Uint8Array): void {
    if (this.#watch !== undefined) return this.#watch.push(chunk)
    const { maxBody, memory } = this.#parts
    this.#size += chunk.length
    if (!this.#isCall || this.#pieces.size + chunk.length !== this.#size) return
    if (this.#size <= maxBody && memory.take(chunk.length)) this.#pieces.push(chunk)
  }

  #event(frame: SseFrame): void {
    if (frame.oversized) return
    const { event, data } = frame
    if (event === 'endpoint') this.#session ??= endpointKey(this.#target, data ?? '')
    else if (data !== undefined && data !== '') this.#record({}, data)
  }

  #recordMissed(): void {
    const { missed = false, missedBytes: bytes } = this.#watch ?? {}
    if (missed) this.#record({ omitted: 'too_large', bytes })
  }

  /** Records a response that is not a stream. */
  #whole(): void {
    const head = this.#head
    const isHeld = this.#pieces.size === this.#size
    const coding = head === undefined ? 'identity' : responseFactsOf(head).coding
    const text = isHeld ? this.#text(this.#pieces.joined(), coding) : ''
    this.release()
    if (!this.#isCall || this.#via === 'stream' || head === undefined) return
    if (!isHeld) return this.#record({ omitted: 'too_large', bytes: this.#size })
    const isError = head.status >= 300 || this.#size === 0
    // HTTP+SSE servers only accept the call here.
    if (head.status === 202 || (this.#size === 0 && head.status < 300)) return
    const retryAfter = headerValue(head.headers, 'retry-after')
    this.#record(isError ? { status: head.status, retryAfter } : {}, text ?? '')
  }

  #record(rest: Partial<TapeLine>, text?: string): void {
    this.#tape.take(this.#line('server', rest), text)
  }

  #line(from: TapeLine['from'], rest: Partial<TapeLine>): Omit<TapeLine, 'at'> {
    const key = this.#session
    const session = key === undefined || key === '' ? undefined : digest(key).slice(0, 8)
    const via = this.#via
    return { exchange: this.#exchange, session, from, ...(from === 'server' && { via }), ...rest }
  }

  #text(bytes: Uint8Array, coding: Coding): string | undefined {
    const plain = decodeWhole(coding, bytes, this.#parts.maxBody)
    return plain && Buffer.from(plain).toString()
  }
}
