import { inOnePiece } from '../../../base/bytes.ts'
import { endToEnd } from '../../../http/hop-by-hop.ts'
import { headerValue, linesText, type ResponseHead } from '../../../http/headers.ts'
import { FastResponseHead, type SplitHeadText } from '../../../http/fast/fast-response-head.ts'
import { assertSafeReason } from '../response-head.ts'

/** A response's head as the client gets it, and how its body is framed. */
export interface ResponseText {
  readonly text: string
  readonly framing: 'length' | 'chunked' | 'none'
}

/** How the head of a response ends where the connection ends with it. */
const CLOSE = 'Connection: close\r\n'

/** Writes the heads of responses, as node:http would for a POST, GET or DELETE of HTTP/1.1. */
export class ResponseTexts {
  readonly #keep: string

  /** `keepAlive` is how long an idle connection is kept, in milliseconds. */
  constructor(keepAlive: number) {
    this.#keep = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAlive / 1000)}\r\n`
  }

  /** The text of a head on a connection that stays or ends. */
  of(head: ResponseHead, stays: boolean): ResponseText {
    if (!stays) return responseText(head, CLOSE)
    if (!(head instanceof FastResponseHead)) return responseText(head, this.#keep)
    // Apps say the same again and again, and what reads it knows it again.
    let around = head.cache.text
    if (around?.by !== this) {
      around = split(responseText(head, this.#keep), this)
      head.cache.text = around
    }
    const { before, after, framing } = around
    return { text: head.length < 0 ? before : before + String(head.length) + after, framing }
  }
}

const LENGTH = /\r\ncontent-length: /i

/** Splits a plain head, which has one such line at most and no line break inside its parts. */
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
