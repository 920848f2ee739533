import { inOnePiece } from '../../base/bytes.ts'
import { endToEnd } from '../hop-by-hop.ts'
import { linesText, type HeaderLines, type RequestHead } from '../headers.ts'
import { FastRequestHead } from './fast-request-head.ts'
import { requestHeadText } from '../request-text.ts'
import { HeadMemo } from './head-memo.ts'
import { plainLines, plainNumber } from './header-lines.ts'

/** Heads above this are left to the standard path. */
const MOST = 16 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const START = /(GET|POST|DELETE) (\/[\w\-.~!$&'()*+,;=:@%/?]*) HTTP\/1\.1\r\n/y

/** What is known of a head by its bytes. */
interface Known {
  readonly head: FastRequestHead
  /** Place of the declared length among the lines; -1 without one. */
  readonly lengthAt: number
  /** What the app gets in front of the declared length, and behind it. */
  readonly before: string
  readonly after: string
}

/**
 * Reads the heads of the plainest HTTP/1.1 requests: a path as target, one Host, a POST with one
 * Content-Length or a GET or DELETE without any, nothing that changes framing or connection.
 * Whatever is not of this form is for another parser to judge.
 */
export class RequestReader {
  /** What was read last: valid after `read` returned true, and until it is called again. */
  head!: FastRequestHead
  /** The declared length of its body. */
  length = 0
  /** How many bytes the head has. */
  size = 0
  readonly #most: number
  readonly #memo = new HeadMemo<Known>()
  #known: Known | undefined

  /** No head that `limit` bytes cannot hold is read. */
  constructor(limit: number) {
    this.#most = Math.min(limit - 1, MOST)
  }

  /** Reads the head that begins at a place; false where it is not plain, or not whole. */
  read(bytes: Buffer, at: number): boolean {
    const memo = this.#memo
    const limit = Math.min(bytes.length, at + this.#most)
    if (!memo.matches(bytes, at, limit)) return this.#parse(bytes, at)
    this.size = memo.size
    if (memo.length === this.length && memo.known === this.#known) return true
    this.#use(memo.known, memo.length)
    return true
  }

  /** Lets go of what was read before. */
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
    this.head = new FastRequestHead(head.method, head.target, headers, text, head.notes)
  }
}

function parse(text: string): Known | undefined {
  START.lastIndex = 0
  const start = START.exec(text)
  if (start === null) return undefined
  const headers = plainLines(text, START.lastIndex)
  if (headers === undefined) return undefined
  const lengthAt = judge(headers)
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

/** Place of the declared length, or -1; undefined where a line makes the request other than plain. */
function judge(lines: HeaderLines): number | undefined {
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
        if (name.toLowerCase() === 'connection' && !keepsAlive(lines[i + 1]!)) return undefined
        break
      default:
        if (SPECIAL.has(name.length) && SPECIAL_NAMES.has(name.toLowerCase())) return undefined
    }
  }
  return hosts === 1 ? lengthAt : undefined
}

/** Lines by which a request is more than a head and a body of known length. */
const SPECIAL_NAMES: ReadonlySet<string> = new Set([
  'te',
  'expect',
  'upgrade',
  'trailer',
  'proxy-connection',
  'transfer-encoding',
])
const SPECIAL: ReadonlySet<number> = new Set([...SPECIAL_NAMES].map((name) => name.length))

function keepsAlive(value: string): boolean {
  return value === 'keep-alive' || value.toLowerCase() === 'keep-alive'
}
