import { inOnePiece } from '../../base/bytes.ts'
import { endToEnd } from '../hop-by-hop.ts'
import { linesText, type HeaderLines, type RequestHead } from '../headers.ts'
import { FastRequestHead } from './fast-request-head.ts'
import { requestHeadText } from '../request-text.ts'
import { HeadMemo } from './head-memo.ts'
import { plainLines, plainNumber } from './header-lines.ts'

/** The largest head in bytes; larger ones take the standard path. */
const MOST = 16 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const START = /(GET|POST|DELETE) (\/[\w\-.~!$&'()*+,;=:@%/?]*) HTTP\/1\.1\r\n/y

/** Facts of a head that `HeadMemo` recognizes. */
interface Known {
  readonly head: FastRequestHead
  /** The index of the declared length among the lines; -1 without one. */
  readonly lengthAt: number
  /** The text for the upstream before the declared length, and behind it. */
  readonly before: string
  readonly after: string
}

/**
 * Reads the heads of plain HTTP/1.1 requests: a path as target, one Host, a POST with one
 * Content-Length or a GET or DELETE without one, and no header that changes framing or connection.
 * All other heads go to the standard parser.
 */
export class RequestReader {
  /** The last head: valid after `read` returned true, until the next `read`. */
  head!: FastRequestHead
  /** The declared length of the body. */
  length = 0
  /** The size of the head in bytes. */
  size = 0
  readonly #most: number
  readonly #memo = new HeadMemo<Known>()
  #known: Known | undefined

  /** Heads of `limit` bytes or more are not read. */
  constructor(limit: number) {
    this.#most = Math.min(limit - 1, MOST)
  }

  /** Reads the head at `at`; returns false when it is not plain or incomplete. */
  read(bytes: Buffer, at: number): boolean {
    const memo = this.#memo
    const limit = Math.min(bytes.length, at + this.#most)
    if (!memo.matches(bytes, at, limit)) return this.#parse(bytes, at)
    this.size = memo.size
    if (memo.length === this.length && memo.known === this.#known) return true
    this.#use(memo.known, memo.length)
    return true
  }

  /** Drops the kept head. */
  forget(): void {
    this.#memo.forget()
  }

  #parse(bytes: Buffer, at: number): boolean {
    const end = bytes.indexOf(HEAD_END, at)
    if (end < 0) return false
    const size = end + HEAD_END.length - at
    if (size > this.#most) return false
    const text = bytes.toString('latin1', at, at + size)
    const known = parse(text)
    if (known === undefined) return false
    const { lengthAt, head } = known
    const digits = lengthAt < 0 ? '' : head.headers[lengthAt]!
    this.#memo.keep(bytes, at, size, known, digits)
    this.size = size
    this.#use(known, digits === '' ? 0 : Number(digits))
    return true
  }

  #use(known: Known, length: number): void {
    const { head, lengthAt, before, after } = known
    this.#known = known
    this.length = length
    const digits = String(length)
    if (lengthAt < 0 || head.headers[lengthAt] === digits) {
      this.head = head
      return
    }
    const headers = head.headers.slice()
    headers[lengthAt] = digits
    const text = before + digits + after
    this.head = new FastRequestHead(head.method, head.target, headers, text, head.cache)
  }
}

function parse(text: string): Known | undefined {
  START.lastIndex = 0
  const start = START.exec(text)
  if (start === null) return undefined
  const headers = plainLines(text, START.lastIndex)
  if (headers === undefined) return undefined
  const lengthAt = lengthIndex(headers)
  if (lengthAt === undefined) return undefined
  const method = start[1]!
  if ((method === 'POST') === lengthAt < 0) return undefined
  const target = start[2]!
  const bare: RequestHead = { method, target, version: '1.1', headers }
  if (lengthAt < 0) {
    const whole = inOnePiece(`${requestHeadText(bare, false)}\r\n`)
    return {
      head: new FastRequestHead(method, target, headers, whole),
      lengthAt,
      before: '',
      after: '',
    }
  }
  const front = requestHeadText({ ...bare, headers: headers.slice(0, lengthAt - 1) }, false)
  const before = inOnePiece(`${front}${headers[lengthAt - 1]!}: `)
  const after = inOnePiece(`\r\n${linesText(endToEnd(headers.slice(lengthAt + 1)))}\r\n`)
  const head = new FastRequestHead(method, target, headers, before + headers[lengthAt]! + after)
  return { head, lengthAt, before, after }
}

/** Returns the index of the declared length, or -1; undefined when the request is not plain. */
function lengthIndex(lines: HeaderLines): number | undefined {
  let lengthAt = -1
  let hosts = 0
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === 'host') hosts++
        break
      case 14:
        if (name.toLowerCase() === 'http2-settings') return undefined
        if (name.toLowerCase() !== 'content-length') break
        if (lengthAt >= 0 || plainNumber(lines[i + 1]!) < 0) return undefined
        lengthAt = i + 1
        break
      case 10:
        if (name.toLowerCase() !== 'connection') break
        if (lines[i + 1]!.toLowerCase() !== 'keep-alive') return undefined
        break
      default:
        if (SPECIAL.has(name.length) && SPECIAL_NAMES.has(name.toLowerCase())) return undefined
    }
  }
  return hosts === 1 ? lengthAt : undefined
}

/** Headers of requests that are not plain. */
const SPECIAL_NAMES: ReadonlySet<string> = new Set([
  'te',
  'expect',
  'upgrade',
  'trailer',
  'proxy-connection',
  'transfer-encoding',
])
const SPECIAL: ReadonlySet<number> = new Set([...SPECIAL_NAMES].map((name) => name.length))
