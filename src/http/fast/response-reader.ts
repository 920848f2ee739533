import { isSquallHeader } from '../renamed-markers.ts'
import type { HeaderLines } from '../headers.ts'
import { HeadMemo } from './head-memo.ts'
import { FastResponseHead } from './fast-response-head.ts'
import { plainLines, plainNumber } from './header-lines.ts'

/** The largest head in bytes; larger ones take the standard path. */
const MOST = 16 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const START = /HTTP\/1\.1 ([2-5]\d\d) ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y

/** Stands for the length of a chunked body. */
export const CHUNKED = -1

/** Facts of a head that `HeadMemo` recognizes. */
interface Known {
  readonly head: FastResponseHead
  /** The index of the declared length among the lines; -1 without one. */
  readonly lengthAt: number
  readonly chunked: boolean
  readonly closes: boolean
  readonly keptFor: number | undefined
}

/**
 * Reads the heads of plain HTTP/1.1 responses: a final status with a reason phrase, and one
 * declared length, chunked framing, or a status without a body. All other heads go to the standard
 * parser.
 */
export class ResponseReader {
  /** The last head: valid after `read` returned true, until the next `read`. */
  head!: FastResponseHead
  /** The declared length of the body, or `CHUNKED`. */
  length = 0
  /** The size of the head in bytes. */
  size = 0
  readonly #most: number
  readonly #memo = new HeadMemo<Known>()
  #known!: Known

  /** Heads of `limit` bytes or more are not read. */
  constructor(limit: number) {
    this.#most = Math.min(limit - 1, MOST)
  }

  /** True when the upstream ends the connection after this response. */
  get closes(): boolean {
    return this.#known.closes
  }

  /** The milliseconds for which the upstream announces to keep an idle connection. */
  get keptFor(): number | undefined {
    return this.#known.keptFor
  }

  /** A copy of the bytes of the last head. */
  get bytes(): Buffer {
    return this.#memo.bytes(this.#known.lengthAt < 0 ? '' : String(this.length))
  }

  /** Reads the head at `at`, up to `end`; returns false when it is not plain or incomplete. */
  read(bytes: Buffer, at: number, end: number): boolean {
    const memo = this.#memo
    const limit = Math.min(end, at + this.#most)
    if (!memo.matches(bytes, at, limit)) return this.#parse(bytes, at, end)
    this.size = memo.size
    const { known } = memo
    if (memo.length === this.length && this.#known === known) return true
    this.#use(known, memo.length)
    return true
  }

  /** Drops the kept head. */
  forget(): void {
    this.#memo.forget()
  }

  #parse(bytes: Buffer, at: number, end: number): boolean {
    const blank = bytes.indexOf(HEAD_END, at)
    const size = blank + HEAD_END.length - at
    if (blank < 0 || at + size > end || size > this.#most) return false
    const known = parse(bytes.toString('latin1', at, at + size))
    if (known === undefined) return false
    const { lengthAt, head } = known
    const digits = lengthAt < 0 ? '' : head.headers[lengthAt]!
    this.#memo.keep(bytes, at, size, known, digits)
    this.size = size
    this.#use(known, Number(digits))
    return true
  }

  #use(known: Known, length: number): void {
    const { head, lengthAt } = known
    this.#known = known
    this.length = known.chunked ? CHUNKED : length
    this.head = head
    if (lengthAt < 0 || head.length === length) return
    const headers = head.headers.slice()
    headers[lengthAt] = String(length)
    this.head = new FastResponseHead(head.status, head.reason, headers, length, head.cache)
  }
}

function parse(text: string): Known | undefined {
  START.lastIndex = 0
  const start = START.exec(text)
  if (start === null) return undefined
  const headers = plainLines(text, START.lastIndex)
  if (headers === undefined) return undefined
  const status = Number(start[1])
  const framing = framingOf(headers)
  if (framing === undefined) return undefined
  const { lengthAt, chunked } = framing
  if (status === 204 || status === 304) {
    // Parsers disagree about a length without a body.
    if (chunked || lengthAt >= 0) return undefined
  } else if (chunked === lengthAt >= 0) {
    return undefined
  }
  const length = lengthAt < 0 ? -1 : Number(headers[lengthAt])
  return { head: new FastResponseHead(status, start[2]!, headers, length), ...framing }
}

/** Reads the framing and the connection headers; undefined when the response is not plain. */
function framingOf(lines: HeaderLines): Omit<Known, 'head'> | undefined {
  let lengthAt = -1
  let chunked = false
  let closes = false
  let connections = 0
  let keptFor: number | undefined
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!.toLowerCase()
    const value = lines[i + 1]!
    switch (name) {
      case 'content-length':
        if (lengthAt >= 0 || plainNumber(value) < 0) return undefined
        lengthAt = i + 1
        break
      case 'transfer-encoding':
        if (chunked || value !== 'chunked') return undefined
        chunked = true
        break
      case 'connection': {
        const option = value.toLowerCase()
        if ((option !== 'close' && option !== 'keep-alive') || connections++ > 0) return undefined
        closes = option === 'close'
        break
      }
      case 'keep-alive':
        if (keptFor !== undefined) return undefined
        keptFor = timeoutIn(value)
        if (keptFor < 0) return undefined
        break
      case 'upgrade':
      case 'proxy-connection':
        return undefined
      default:
        // The standard path renames these headers.
        if (isSquallHeader(name)) return undefined
    }
  }
  return { lengthAt, chunked, closes, keptFor: keptFor === Infinity ? undefined : keptFor }
}

/**
 * Returns the timeout in milliseconds: Infinity when none is given, -1 when it has too many digits.
 */
function timeoutIn(value: string): number {
  const digits = /timeout=(\d+)/.exec(value)?.[1]
  if (digits === undefined) return Infinity
  return digits.length > 9 ? -1 : Number(digits) * 1000
}
