import type { Socket } from 'node:net'
import { linesText, type HeaderLines } from '../http/headers.ts'

/** undici wrote something other than the one head that was announced. */
export class RequestHeadError extends Error {
  readonly code = 'SQUALL_HEAD_LANE'
}

const CHUNKED_MARK = 'transfer-encoding: chunked\r\n'
const LAST_CHUNK = '\r\n0\r\n\r\n'

/**
 * Puts the client's own head in the place of the one that undici would write. undici lower-cases
 * `Host`, moves it to the front and drops trailers; an app behind a proxy that nobody notices must
 * see neither. undici writes text for heads and chunk framing and bytes for bodies, so every text
 * passes here and no body byte does.
 */
export class RequestHeadWriter {
  #text: string | undefined
  #chunked = false
  #trailers: (() => HeaderLines) | undefined
  #body = ''

  /** Announces the head of the request that is dispatched next on this connection. */
  announce(text: string, trailers: (() => HeaderLines) | undefined): void {
    this.#text = text
    this.#chunked = trailers !== undefined
    this.#trailers = trailers
    this.#body = ''
  }

  /**
   * Announces a head with the whole of its body, as latin1: one character is one byte. undici is not
   * told of the body, and both leave in one write.
   */
  announceWhole(text: string, body: string): void {
    this.announce(text, undefined)
    this.#body = body
  }

  /** Takes over the text that is written on a new connection. */
  attach(socket: Socket): void {
    const write = socket.write.bind(socket) as (
      chunk: unknown,
      encoding?: unknown,
      done?: unknown,
    ) => boolean
    socket.write = (chunk: unknown, encoding?: unknown, done?: unknown): boolean =>
      typeof chunk === 'string'
        ? write(this.#translate(chunk), 'latin1', done)
        : write(chunk, encoding, done)
  }

  #translate(written: string): string {
    if (this.#text !== undefined) return this.#head(written, this.#text)
    if (!this.#chunked) throw new RequestHeadError('text was written outside of a head')
    return written === LAST_CHUNK ? this.#lastChunk() : written
  }

  #head(written: string, text: string): string {
    this.#text = undefined
    if (!this.#chunked) return `${text}\r\n${this.#body}`
    if (written.endsWith(CHUNKED_MARK)) return text
    // The stream was empty and undici chose a length of 0, but the head says chunked.
    return text + this.#lastChunk()
  }

  #lastChunk(): string {
    const lines = this.#trailers?.() ?? []
    this.#chunked = false
    if (lines.length === 0) return LAST_CHUNK
    return `\r\n0\r\n${linesText(lines)}\r\n`
  }
}
