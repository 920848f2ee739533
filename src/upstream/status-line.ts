import type { Socket } from 'node:net'

/** The reason phrase is not searched for behind more bytes of 1xx responses than this. */
const MOST = 8 * 1024
const FINAL = /^HTTP\/1\.[01] [2-9]\d\d(?: ([^\r\n]*))?\r?\n/
const FOREIGN = /^HTTP\/(?!1\.[01] )[^ ]+ /
const INFORMATIONAL = /^HTTP\/1\.[01] 1\d\d/

/**
 * Reads the reason phrase as the upstream wrote it. undici decodes the phrase as UTF-8, and keeps
 * only its last piece when the phrase arrives in several.
 */
export class StatusLine {
  /** The reason phrase of the current response; undefined when it was not found. */
  reason: string | undefined
  /** True when the response has another HTTP version than 1.0 and 1.1. */
  foreign = false
  #wanted = false
  #text = ''

  /** Expects a response next, after a request was sent. */
  expect(): void {
    this.#wanted = true
    this.#text = ''
    this.reason = undefined
    this.foreign = false
  }

  /** Observes the bytes that undici reads from a new connection. */
  attach(socket: Socket): void {
    const read = socket.read.bind(socket)
    socket.read = (size?: number): unknown => {
      const chunk: unknown = size === undefined ? read() : read(size)
      if (this.#wanted && Buffer.isBuffer(chunk)) this.#look(chunk)
      return chunk
    }
  }

  #look(chunk: Buffer): void {
    if (this.#text === '' && this.#readFast(chunk)) return
    this.#text += chunk.toString('latin1', 0, Math.min(chunk.length, MOST))
    while (INFORMATIONAL.test(this.#text)) {
      const end = this.#text.indexOf('\r\n\r\n')
      if (end < 0) break
      this.#text = this.#text.slice(end + 4)
    }
    if (FOREIGN.test(this.#text)) this.foreign = true
    const match = FINAL.exec(this.#text)
    if (match === null && this.#text.length < MOST) return
    this.#wanted = false
    this.#text = ''
    this.reason = match === null ? undefined : (match[1] ?? '')
  }

  /**
   * Reads the common case without a regular expression: a whole final status line in the first
   * bytes.
   */
  #readFast(chunk: Buffer): boolean {
    const digit = chunk[9]
    // HTTP/2.0 has its digits in the same places.
    if (chunk[5] !== 0x31) return false
    if (digit === undefined || digit < 0x32 || digit > 0x39 || chunk[12] !== 0x20) return false
    const lf = chunk.indexOf(0x0a)
    if (lf < 14 || chunk[lf - 1] !== 0x0d) return false
    this.#wanted = false
    this.reason = chunk.toString('latin1', 13, lf - 1)
    return true
  }
}
