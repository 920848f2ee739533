import { inOnePiece } from '../../../base/bytes.ts'
import { endToEnd } from '../../../http/hop-by-hop.ts'
import { headerValue, linesText, type ResponseHead } from '../../../http/headers.ts'
import { FastResponseHead, type SplitHeadText } from '../../../http/fast/fast-response-head.ts'
import { assertSafeReason } from '../response-head.ts'

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
    // Apps repeat their heads, and `HeadMemo` recognizes them.
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
