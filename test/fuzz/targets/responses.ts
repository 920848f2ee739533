import { Random } from '../../support/random.ts'
import { CHUNKED, ResponseReader } from '../../../src/http/fast/response-reader.ts'
import { readChunks, type ChunksReading } from './chunks-reading.ts'
import { digestOf } from '../digest.ts'
import { Disagreement, same } from '../disagreement.ts'
import {
  DEFAULT_IDLE,
  RETIRE_BEFORE,
  undiciReads,
  type UndiciReading,
} from '../references/undici-response.ts'
import { MAX_HEADER_SIZE } from './requests.ts'
import type { Target, Tried } from './target.ts'

const LONGEST_IDLE = 600_000
const NOT_PLAIN: Tried = { kind: 'not plain', compared: false }

/** A response as the framers read it. */
interface OurReading {
  readonly body: string
  readonly state: 'more' | 'whole' | 'unsupported' | 'broken'
  /** Behind what was read, or where the unsupported chunk begins. */
  readonly at: number
}

/** Reads the bytes of one response as the fast path does, and compares the result with undici. */
export async function checkResponse(bytes: Buffer): Promise<Tried> {
  const responses = new ResponseReader(MAX_HEADER_SIZE)
  if (!responses.read(bytes, 0, bytes.length)) return NOT_PLAIN
  const { length, size } = responses
  same('the copy of the head', responses.bytes.toString('latin1'), latin1(bytes, 0, size))
  const ours = length === CHUNKED ? chunked(bytes, size) : counted(bytes, size, length)
  const theirs = await undiciReads(around(bytes, ours), MAX_HEADER_SIZE)
  const { status, reason, headers } = responses.head
  same('the heads', [{ status, reason, headers }], theirs.heads)
  same('refused', ours.state === 'broken', theirs.refused && ours.state !== 'unsupported')
  if (ours.state === 'unsupported') {
    await goesOn(bytes, size, ours, theirs)
  } else {
    same('the body', ours.body, theirs.body)
    same('where it is whole', ours.state === 'whole' ? 1 : undefined, theirs.wholeWith)
    if (ours.state === 'whole') compareKeeping(responses, ours.at === bytes.length, theirs)
  }
  const { head, closes, keptFor } = responses
  const digits = Math.min(32 - Math.clz32(ours.body.length), 6)
  return {
    kind: `${head.status} ${ours.state} ${digits} ${closes} ${keptFor === undefined}`,
    compared: true,
  }
}

function compareKeeping(responses: ResponseReader, clean: boolean, theirs: UndiciReading): void {
  const { closes, keptFor } = responses
  const idle =
    keptFor === undefined ? DEFAULT_IDLE : Math.min(keptFor - RETIRE_BEFORE, LONGEST_IDLE)
  const kept = clean && !closes && idle > 0
  // Line breaks behind a response are no reason for undici to give up the connection.
  if (kept || clean) same('keeping the connection', kept, theirs.kept)
  if (kept) same('for how long', idle, theirs.keptFor)
}

function counted(bytes: Buffer, from: number, length: number): OurReading {
  const end = Math.min(from + length, bytes.length)
  const body = latin1(bytes, from, end)
  return { body, state: end - from === length ? 'whole' : 'more', at: end }
}

/** Reads chunks in one go, byte by byte and cut anywhere: it must make no difference. */
function chunked(bytes: Buffer, from: number): ChunksReading {
  const rest = bytes.subarray(from)
  const whole = readChunks([rest], from)
  const single = Array.from(rest, (_byte, i) => rest.subarray(i, i + 1))
  same('byte by byte', readChunks(single, from), whole)
  const random = new Random(digestOf(bytes))
  for (let i = 0; i < 2; i++) same('in pieces', readChunks(random.cut(rest, 5), from), whole)
  return whole
}

/** Cuts the bytes so that undici shows which byte completes the response. */
function around(bytes: Buffer, { at, state }: OurReading): Buffer[] {
  if (state !== 'whole') return [bytes]
  const pieces = [bytes.subarray(0, at - 1), bytes.subarray(at - 1, at), bytes.subarray(at)]
  return pieces.filter((piece) => piece.length > 0)
}

/** Checks that undici reads the rest, from the unsupported chunk on, as it reads the whole. */
async function goesOn(
  bytes: Buffer,
  size: number,
  ours: OurReading,
  theirs: UndiciReading,
): Promise<void> {
  const handed = Buffer.concat([bytes.subarray(0, size), bytes.subarray(ours.at)])
  const rest = await undiciReads([handed], MAX_HEADER_SIZE)
  if (!theirs.body.startsWith(ours.body)) {
    throw new Disagreement('the pieces before an unsupported chunk', JSON.stringify(ours.body))
  }
  const { heads, ...both } = rest
  same('the head once more', heads, theirs.heads)
  const expected = { ...theirs, heads: undefined }
  same(
    'behind an unsupported chunk',
    { ...both, body: ours.body + both.body, heads: undefined },
    expected,
  )
}

function latin1(bytes: Buffer, from: number, to: number): string {
  return bytes.toString('latin1', from, to)
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'

/** The readers of plain responses and of their chunks beside undici. */
export const responsesTarget: Target = {
  name: 'responses',
  maxLength: 2_000,
  seeds: [
    `${OK}Content-Length: 5\r\n\r\nhello`,
    `${OK}Connection: keep-alive\r\nKeep-Alive: timeout=5, max=100\r\nContent-Length: 0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-T: 1\r\n\r\n`,
    'HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n',
    'HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  ],
  tokens: [
    ['\r\n', '\n', '\r', '\r\n\r\n', '\0', '\t', ' ', '\u007f', '\u0080', ':', ': ', ';', ','],
    ['HTTP/1.0 200 OK\r\n', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 ', ' 200 ', ' 205 '],
    [' 299 ', ' 101 ', ' 304 ', ' 599 ', '0\r\n\r\n', '00\r\n\r\n', '5\r\nhello\r\n', '1\r\na\r\n'],
    ['000000a\r\n', 'fffffff\r\n', '10000000\r\n', 'ffffffffffffffffff\r\n', ';a="b"', '0\r\n'],
    ['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'chunked', '-1'],
    ['Content-Length: 5\r\n', 'Content-Length: 999999999999\r\n', 'Content-Length: 05\r\n'],
    ['Connection: close\r\n', 'Connection: keep-alive\r\n', 'Connection: upgrade\r\n'],
    ['Keep-Alive: timeout=5\r\n', 'timeout=', 'timeout=1', 'timeout=3', '0000000000', 'max=2'],
    ['Upgrade: x\r\n', 'Proxy-Connection: close\r\n', 'Trailer: a\r\n', 'a: b\r\n', ' x\r\n'],
  ].flat(),
  run: checkResponse,
}
