import type { Socket } from 'node:net'
import { linesText, type HeaderLines } from '../http/headers.ts'

/** Reports that undici wrote text other than the announced head. */
export class RequestHeadError extends Error {
  readonly code = 'SQUALL_REQUEST_HEAD'
}

const CHUNKED_HEADER = 'transfer-encoding: chunked\r\n'
const LAST_CHUNK = '\r\n0\r\n\r\n'

/**
 * Writes the client's own head instead of undici's. undici lower-cases `Host`, moves it to the
 * front and drops trailers; behind a transparent proxy the upstream must see none of that. undici
 * writes strings for heads and chunk framing and bytes for bodies, so only strings are translated
 * here.
 */
export class RequestHeadWriter {
  #text: string | undefined
  #chunked = false
  #trailers: (() => HeaderLines) | undefined
  #body = ''
  /** The characters that were written before undici wrote them. */
  #early = 0
  #write: (text: string) => void = () => undefined

  /** Announces the head of the request that is dispatched next on this connection. */
  announce(text: string, trailers: (() => HeaderLines) | undefined): void {
    this.#text = text
    this.#chunked = trailers !== undefined
    this.#trailers = trailers
    this.#body = ''
    this.#early = 0
  }

  /**
   * Announces a head with its whole body as latin1 (one character is one byte). undici does not see
   * the body; both are sent in one write.
   */
  announceWhole(text: string, body: string): void {
    this.announce(text, undefined)
    this.#body = body
  }

  /** Writes a head whose body is late: undici writes it with the first bytes of the body. */
  flush(): void {
    if (this.#text === undefined) return
    this.#early = this.#text.length + 2
    this.#write(`${this.#text}\r\n`)
  }

  /** Intercepts the strings that undici writes to a new connection. */
  attach(socket: Socket): void {
    const write = socket.write.bind(socket) as (
      chunk: unknown,
      encoding?: unknown,
      done?: unknown,
    ) => boolean
    this.#write = (text) => void write(text, 'latin1')
    socket.write = (chunk: unknown, encoding?: unknown, done?: unknown): boolean =>
      typeof chunk === 'string'
        ? write(this.#unsent(this.#translate(chunk)), 'latin1', done)
        : write(chunk, encoding, done)
  }

  #unsent(text: string): string {
    const early = Math.min(this.#early, text.length)
    this.#early -= early
    return early === 0 ? text : text.slice(early)
  }

  #translate(written: string): string {
    if (this.#text !== undefined) return this.#head(written, this.#text)
    if (!this.#chunked) throw new RequestHeadError('text was written outside of a header block')
    return written === LAST_CHUNK ? this.#lastChunk() : written
  }

  #head(written: string, text: string): string {
    this.#text = undefined
    if (!this.#chunked) return `${text}\r\n${this.#body}`
    if (written.endsWith(CHUNKED_HEADER)) return text
    // The stream was empty: undici wrote a length of 0, but the client's head is chunked.
    return text + this.#lastChunk()
  }

  #lastChunk(): string {
    const lines = this.#trailers?.() ?? []
    this.#chunked = false
    if (lines.length === 0) return LAST_CHUNK
    return `\r\n0\r\n${linesText(lines)}\r\n`
  }
}
