import { asBuffer, inOnePiece } from '../../../base/bytes.ts'
import type { ChunkRun } from '../../../http/chunk-run.ts'
import {
  type HeaderLines,
  type ResponseHead,
  headerValue,
  linesText,
} from '../../../http/headers.ts'
import { assertSafeReason, informationalText } from '../response-head.ts'
import type { ClientResponse, Cut } from '../../exchange.ts'
import type { ClientExchange } from '../client-connection.ts'
import { endToEnd } from '../../../http/hop-by-hop.ts'
import { FastResponseHead, type SplitHeadText } from '../../../http/fast/fast-response-head.ts'

/** Pieces up to this size are written together as text. */
const ONE_WRITE = 16 * 1024

/** Writes responses in the order of their requests. */
export interface ResponseOutput {
  readonly texts: ResponseTexts
  /** Writes or queues a text and a piece; false asks for a pause until `drained` of the response. */
  write(response: FastResponse, text: string, piece?: Uint8Array): boolean
  /** Completes the response; with `ending` the connection ends after it. */
  done(response: FastResponse, ending: Cut | undefined): void
  /** Ends the connection after the newest response, which is complete and may still be queued. */
  endBehind(response: FastResponse): void
}

/** Writes one response to the socket with the bytes that node:http would write. */
export class FastResponse implements ClientResponse {
  ended = false
  started = false
  /** The response to the next request. */
  next: FastResponse | undefined
  readonly #output: ResponseOutput
  readonly #owner: ClientExchange
  /** The head and the pieces of one tick, which are sent in one write. */
  #text = ''
  /** The last piece. */
  #held: Uint8Array | undefined
  #bodyBegun = false
  /** True while the client accepts no more data. */
  #full = false
  #framing: 'length' | 'chunked' | 'none' = 'length'
  #flushAsked = false
  #last = false

  constructor(output: ResponseOutput, owner: ClientExchange) {
    this.#output = output
    this.#owner = owner
  }

  info(head: ResponseHead): void {
    if (!this.started) this.#output.write(this, informationalText(head))
  }

  head(head: ResponseHead, whole = false): void {
    const { text, framing } = this.#output.texts.of(head, !this.#last)
    this.started = true
    this.#text = text
    this.#framing = framing
    // The head is sent with the first bytes of the body, or alone after this tick.
    if (whole) this.#flushAsked = true
    else this.#askFlush()
  }

  data(chunk: Uint8Array): boolean {
    if (this.#framing === 'none' || chunk.length === 0) return true
    this.#bodyBegun = true
    const held = this.#held
    if (held !== undefined) this.#text += this.#framed(held)
    this.#held = undefined
    if (chunk.length > ONE_WRITE) return this.#writeLarge(chunk)
    this.#held = chunk
    if (this.#text.length + chunk.length > ONE_WRITE) return this.#release()
    this.#askFlush()
    return !this.#full
  }

  chunks(run: ChunkRun): boolean {
    if (this.#framing !== 'chunked') return run.each((chunk) => this.data(chunk))
    this.#bodyBegun = true
    const text = this.#taken()
    if (run.to - run.from > ONE_WRITE) return this.#write(text, run.copy)
    this.#text = text + run.text
    if (this.#text.length > ONE_WRITE) return this.#release()
    this.#askFlush()
    return !this.#full
  }

  end(trailers: HeaderLines): void {
    this.#flushAsked = false
    this.ended = true
    const ending = this.#framing === 'chunked' ? `0\r\n${linesText(trailers)}\r\n` : ''
    const text = this.#taken() + ending
    if (text !== '') this.#output.write(this, text)
    this.#owner.ended()
    this.#output.done(this, this.#last ? 'fin' : undefined)
  }

  cut(how: Cut): void {
    this.ended = true
    // A head of the same tick is sent before a FIN; a reset would overtake it.
    if (this.#flushAsked && !this.#bodyBegun && how === 'rst') this.#text = ''
    this.#flushAsked = false
    this.#release()
    this.#owner.ended()
    this.#output.done(this, how)
  }

  closeAfter(): void {
    this.#owner.connection.closing = true
    this.#last = true
    if (this.ended) this.#output.endBehind(this)
  }

  /** Sends the head and the held pieces when the end did not follow in the same tick. */
  #flush(): void {
    this.#owner.listener?.tickEnded()
    if (!this.#flushAsked) return
    this.#flushAsked = false
    this.#release()
  }

  drained(): void {
    this.#full = false
    this.#owner.drained()
  }

  #askFlush(): void {
    if (this.#flushAsked) return
    this.#flushAsked = true
    process.nextTick(() => this.#flush())
  }

  /** False asks for a pause. */
  #release(): boolean {
    const text = this.#taken()
    return text === '' ? !this.#full : this.#write(text)
  }

  #write(text: string, piece?: Uint8Array): boolean {
    const more = this.#output.write(this, text, piece)
    this.#full = !more
    return more
  }

  /** Takes the held text and piece. */
  #taken(): string {
    const held = this.#held
    const text = held === undefined ? this.#text : this.#text + this.#framed(held)
    this.#text = ''
    this.#held = undefined
    return text
  }

  #writeLarge(chunk: Uint8Array): boolean {
    const text = this.#taken()
    if (this.#framing === 'length') return this.#write(text, chunk)
    const more = this.#write(`${text}${chunk.length.toString(16)}\r\n`, chunk)
    // Written together with the next pieces of this tick.
    this.#text = '\r\n'
    this.#askFlush()
    return more
  }

  #framed(chunk: Uint8Array): string {
    const bytes = asBuffer(chunk).toString('latin1')
    return this.#framing === 'chunked' ? `${chunk.length.toString(16)}\r\n${bytes}\r\n` : bytes
  }
}

/** A response's head for the client, and the framing of its body. */
export interface ResponseText {
  readonly text: string
  readonly framing: 'length' | 'chunked' | 'none'
}

/** The connection header of a response that ends the connection. */
const CLOSE = 'Connection: close\r\n'

/** Writes the heads of responses as node:http would for a POST, GET or DELETE of HTTP/1.1. */
export class ResponseTexts {
  readonly #keep: string

  /** `keepAlive` is the idle time of connections in milliseconds. */
  constructor(keepAlive: number) {
    this.#keep = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAlive / 1000)}\r\n`
  }

  /** Writes a head; `stays` is false when the connection ends after the response. */
  of(head: ResponseHead, stays: boolean): ResponseText {
    if (!stays) return responseText(head, CLOSE)
    if (!(head instanceof FastResponseHead)) return responseText(head, this.#keep)
    // Upstreams repeat their headers, and `HeadMemo` recognizes them.
    let parts = head.cache.text
    if (parts?.by !== this) {
      parts = split(responseText(head, this.#keep), this)
      head.cache.text = parts
    }
    const { before, after, framing } = parts
    return { text: head.length < 0 ? before : before + String(head.length) + after, framing }
  }
}

const LENGTH = /\r\ncontent-length: /i

/** Splits a plain head around its Content-Length, which appears at most once. */
function split({ text, framing }: ResponseText, by: object): SplitHeadText {
  const line = LENGTH.exec(text)
  if (line === null) return { by, before: inOnePiece(text), after: '', framing }
  const start = line.index + line[0].length
  const end = text.indexOf('\r\n', start)
  const before = inOnePiece(text.slice(0, start))
  return { by, before, after: inOnePiece(text.slice(end)), framing }
}

function responseText(head: ResponseHead, ending: string): ResponseText {
  assertSafeReason(head)
  const { status, reason } = head
  const text = `HTTP/1.1 ${status} ${reason}\r\n${linesText(endToEnd(head.headers))}${ending}`
  if (status === 204 || status === 304) return { text: `${text}\r\n`, framing: 'none' }
  return headerValue(head.headers, 'content-length') === undefined
    ? { text: `${text}Transfer-Encoding: chunked\r\n\r\n`, framing: 'chunked' }
    : { text: `${text}\r\n`, framing: 'length' }
}
