import { factsOf } from '../../../src/mcp/request-facts.ts'
import { ResponseReader } from '../../../src/http/fast/response-reader.ts'
import { RequestReader } from '../../../src/http/fast/request-reader.ts'
import { same } from '../disagreement.ts'
import type { Target, Tried } from './target.ts'

/** A reader that reads one header block after the other, and a fresh reader for each. */
interface Pair {
  readonly read: (bytes: Buffer, at: number, end: number) => unknown
  readonly fresh: (bytes: Buffer, at: number, end: number) => unknown
  readonly forget: () => void
}

/**
 * Reads header blocks one after the other, each at another place among the bytes of the last one.
 * An input is the limit of a header block and then the blocks, separated by NUL; an empty block
 * makes the readers forget.
 */
export function checkMemo(input: Buffer): Tried {
  const [first = '', ...heads] = input.toString('latin1').split('\0')
  const limit = Number.parseInt(first, 10) || 4096
  const requests = requestPair(limit)
  const responses = responsePair(limit)
  let kinds = ''
  let previous = ''
  for (const head of heads) {
    kinds += `${trial(requests, head, '', previous)}${trial(responses, head, previous, head)}`
    previous = head
  }
  return { kind: kinds.slice(0, 16), compared: kinds.includes('+') }
}

function trial(pair: Pair, head: string, behind: string, before: string): string {
  if (head === '') pair.forget()
  const bytes = Buffer.from(before + head + behind, 'latin1')
  const end = before.length + head.length
  const expected = pair.fresh(Buffer.from(bytes), before.length, end)
  same('after other heads', pair.read(bytes, before.length, end), expected)
  // The result must not refer to the bytes that it was read from.
  bytes.fill(0x2a)
  return expected === false ? '-' : '+'
}

function requestPair(limit: number): Pair {
  const view = (requests: RequestReader, bytes: Buffer, at: number): unknown => {
    if (!requests.read(bytes, at)) return false
    const { head, length, size } = requests
    const { method, target, version, headers, text } = head
    // Facts about a header block are cached with it, and must not be those of another.
    return [method, target, version, headers, text, length, size, factsOf(head)]
  }
  const kept = new RequestReader(limit)
  return {
    read: (bytes, at) => view(kept, bytes, at),
    fresh: (bytes, at) => view(new RequestReader(limit), bytes, at),
    forget: () => kept.forget(),
  }
}

function responsePair(limit: number): Pair {
  const view = (responses: ResponseReader, bytes: Buffer, at: number, end: number): unknown => {
    if (!responses.read(bytes, at, end)) return false
    const { head, length, size, closes, keptFor } = responses
    const { status, reason, headers } = head
    const declared = head.length
    const read = { status, reason, headers, declared, length, size, closes, keptFor }
    return { ...read, bytes: responses.bytes.toString('latin1') }
  }
  const kept = new ResponseReader(limit)
  return {
    read: (bytes, at, end) => view(kept, bytes, at, end),
    fresh: (bytes, at, end) => view(new ResponseReader(limit), bytes, at, end),
    forget: () => kept.forget(),
  }
}

const POST = 'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Length: 5\r\nA: b\r\n\r\n'
const TYPED = POST.replace('A: b', 'Content-Type: application/json\r\nMcp-Session-Id: s')
const GET = 'GET /mcp HTTP/1.1\r\nHost: pod\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 12\r\nKeep-Alive: timeout=5\r\n\r\n'
const CHUNKS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n'

/** Compares the readers' memory of the last header block with readers without memory. */
export const memoTarget: Target = {
  name: 'memo',
  maxLength: 1_500,
  seeds: [
    ['', POST, POST.replace('5', '123456789'), GET, POST, '', POST].join('\0'),
    ['', TYPED, TYPED.replace('5', '77'), POST, TYPED.replace(': s', ': t')].join('\0'),
    ['', OK, OK.replace('12', '7'), CHUNKS, OK, CHUNKS, '', OK].join('\0'),
    [String(POST.length + 1), POST, POST.replace('5', '55'), POST.replace('5', '0')].join('\0'),
    [String(OK.length + 3), OK, OK.replace('12', '1234'), OK.replace('12', '0')].join('\0'),
    ['', GET, `${GET}POST`, `${GET}${GET}`, OK, GET].join('\0'),
  ],
  tokens: [
    ['\0', '\0\0', '\r\n', '\r\n\r\n', ' ', '0', '1', '9', '00', '999999999', '9999999999'],
    ['Content-Length: 5\r\n', 'content-length: 5\r\n', 'X-Content-Length: 5\r\n', 'A: b\r\n'],
    ['Content-Type: text/plain\r\n', 'Accept: text/event-stream\r\n', 'Mcp-Session-Id: u\r\n'],
    [`\0${POST}`, `\0${GET}`, `\0${OK}`, `\0${CHUNKS}`, 'Connection: close\r\n', '204', '304'],
  ].flat(),
  run: checkMemo,
}
