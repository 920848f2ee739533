import { isOwnName } from '../renamed-markers.ts'
import type { HeaderLines } from '../headers.ts'
import { HeadMemo } from './head-memo.ts'
import { FastResponseHead } from './fast-response-head.ts'
import { plainLines, plainNumber } from './header-lines.ts'

/** Heads above this are left to the standard path. */
const MOST = 16 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const START = /HTTP\/1\.1 ([2-5]\d\d) ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y

/** The length of a body that comes in chunks. */
export const CHUNKED = -1

/** What is known of a head by its bytes. */
interface Known {
  readonly head: FastResponseHead
  /** Place of the declared length among the lines; -1 without one. */
  readonly lengthAt: number
  readonly chunked: boolean
  readonly closes: boolean
  readonly keptFor: number | undefined
}

/**
 * Reads the heads of the plainest HTTP/1.1 answers: a final status with its phrase, a body that has
 * one declared length, or is chunked, or cannot be. Anything else is for another parser to judge.
 */
export class ResponseReader {
  /** What was read last: valid after `read` returned true, and until it is called again. */
  head!: FastResponseHead
  /** The declared length of its body, or `CHUNKED`. */
  length = 0
  /** How many bytes the head has. */
  size = 0
  readonly #most: number
  readonly #memo = new HeadMemo<Known>()
  #known!: Known

  /** No head that `limit` bytes cannot hold is read. */
  constructor(limit: number) {
    this.#most = Math.min(limit - 1, MOST)
  }

  /** The app ends the connection after this response. */
  get closes(): boolean {
    return this.#known.closes
  }

  /** For how many milliseconds the app says that it keeps an idle connection. */
  get keptFor(): number | undefined {
    return this.#known.keptFor
  }

  /** A copy of the bytes of the head that was read last. */
  get bytes(): Buffer {
    return this.#memo.bytes(this.#known.lengthAt < 0 ? '' : String(this.length))
  }

  /** Reads the head that begins at a place, up to `end`; false where it is not plain, or not whole. */
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

  /** Lets go of what was read before. */
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
    this.head = new FastResponseHead(head.status, head.reason, headers, length, head.notes)
  }
}

function parse(text: string): Known | undefined {
  START.lastIndex = 0
  const start = START.exec(text)
  if (start === null) return undefined
  const headers = plainLines(text, START.lastIndex)
  if (headers === undefined) return undefined
  const status = Number(start[1])
  const framing = judge(headers)
  if (framing === undefined) return undefined
  const { lengthAt, chunked } = framing
  if (status === 204 || status === 304) {
    // A length that no body follows is read in two ways.
    if (chunked || lengthAt >= 0) return undefined
  } else if (chunked === lengthAt >= 0) {
    return undefined
  }
  const length = lengthAt < 0 ? -1 : Number(headers[lengthAt])
  return { head: new FastResponseHead(status, start[2]!, headers, length), ...framing }
}

type Framing = Omit<Known, 'head'>

/** What the lines say of the body and the connection; undefined where one is other than plain. */
function judge(lines: HeaderLines): Framing | undefined {
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
        const said = value.toLowerCase()
        if ((said !== 'close' && said !== 'keep-alive') || connections++ > 0) return undefined
        closes = said === 'close'
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
        // Not passed on as it stands.
        if (isOwnName(name)) return undefined
    }
  }
  return { lengthAt, chunked, closes, keptFor: keptFor === Infinity ? undefined : keptFor }
}

/** Milliseconds; Infinity where none are said, -1 where there are too many digits to be plain. */
function timeoutIn(value: string): number {
  const digits = /timeout=(\d+)/.exec(value)?.[1]
  if (digits === undefined) return Infinity
  return digits.length > 9 ? -1 : Number(digits) * 1000
}
