import type { Random } from '../../support/random.ts'
import type { AppResponse } from '../script.ts'
import { chunkedBody } from './chunks.ts'
import { eventChunks } from './event-chunks.ts'
import { CODINGS, GARBAGE, INFOS, LENGTHS, LINES, STATUS_LINES } from './response-parts.ts'
import { coded } from './bodies.ts'

/** Responses without a body. */
const EMPTY = [
  'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 202 Accepted\r\nDate: Sat, 01 Jan 2022 00:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 204 No Content\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n',
] as const

/** Returns the upstream's response body for a call. */
export function resultBody(random: Random, id: number): string {
  const text = 't'.repeat(random.pick([0, 1, 5, 60, 60, 60, 300, 2000, 17_000]))
  switch (random.int(0, 11)) {
    case 0:
      return `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"${text}"}}`
    case 1:
      return `{"jsonrpc":"2.0","id":${id},"result":{"isError":true,"content":[{"type":"text","text":"${text}"}]}}`
    case 2:
      return `{"jsonrpc":"2.0","id":"${id}","result":{}}`
    case 3:
      return text
    case 4:
      return `[{"jsonrpc":"2.0","id":${id},"result":{}}]`
    default:
      return `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${text}"}]}}`
  }
}

function events(random: Random, body: string): string {
  const end = random.pick(['\n\n', '\n\n', '\r\n\r\n', '\r\r'])
  const first = random.chance(0.4)
    ? `id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n`
    : ''
  const last = random.chance(0.1) ? 'data: cut' : ''
  return `${random.chance(0.2) ? ': hello\n\n' : ''}${first}event: message\ndata: ${body}${end}${last}`
}

type Sent = Pick<AppResponse, 'pieces' | 'end'> & { readonly text: string }

function sent(text: string, end: AppResponse['end'] = 'keep'): Sent {
  return { text, end, pieces: [text] }
}

/** A response as most servers send it: JSON with a length, JSON in chunks, or an event stream. */
export function plainResponse(random: Random, id: number, method = 'POST'): Sent {
  const body = resultBody(random, id)
  const line = random.chance(0.9)
    ? 'HTTP/1.1 200 OK'
    : random.pick(['HTTP/1.1 202 Accepted', 'HTTP/1.1 500 Oops', 'HTTP/1.1 200 '])
  const bare = method === 'HEAD'
  switch (random.int(0, 9)) {
    case 0:
    case 1: {
      const chunks = chunkedBody(random, body, 0)
      return sent(
        `${line}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${bare ? '' : chunks}`,
      )
    }
    case 2:
    case 3: {
      const chunks = random.chance(0.5)
        ? eventChunks(random, body)
        : chunkedBody(random, events(random, body), 0)
      return sent(
        `${line}\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n${bare ? '' : chunks}`,
      )
    }
    case 4: {
      const empty = random.pick(EMPTY)
      // Bytes after a response affect the next request on that connection, if there is one.
      return sent(bare ? empty.slice(0, empty.indexOf('\r\n\r\n') + 4) : empty)
    }
    default:
      return sent(
        `${line}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nDate: Sat, 01 Jan 2022 00:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n${bare ? '' : body}`,
      )
  }
}

/** A response that is odd but legal, or broken. */
export function oddResponse(random: Random, id: number, method = 'POST'): Sent {
  const line = random.chance(0.6) ? 'HTTP/1.1 200 OK' : random.pick(STATUS_LINES)
  let body = resultBody(random, id)
  const lines: string[] = []
  if (random.chance(0.3)) {
    lines.push('Content-Type: text/event-stream')
    body = events(random, body)
  } else lines.push('Content-Type: application/json')
  if (random.chance(0.1)) {
    const { line: coding, body: bytes } = coded(random, body)
    lines.push(coding)
    body = bytes
  }
  const framing = random.next()
  let end: AppResponse['end'] = 'keep'
  if (framing < 0.3) {
    const damage = random.chance(0.4) ? 0.3 : 0
    lines.push(`Transfer-Encoding: ${damage > 0 ? 'chunked' : random.pick(CODINGS)}`)
    body = chunkedBody(random, body, damage)
  } else if (framing < 0.42) end = random.chance(0.9) ? 'fin' : 'rst'
  else {
    const form = random.chance(0.45) ? LENGTHS[0] : random.pick(LENGTHS)
    const less = String(Math.max(0, body.length - 2))
    lines.push(
      form
        .replaceAll('{n}', String(body.length))
        .replace('{less}', less)
        .replace('{more}', String(body.length + 2)),
    )
  }
  for (const odd of random.list(random.chance(0.9) ? 2 : 6, () => random.pick(LINES))) {
    lines.splice(random.int(0, lines.length), 0, odd)
  }
  if (method === 'HEAD' && random.chance(0.8)) body = ''
  if (/ (?:204|304|1\d\d)/.test(line) && random.chance(0.7)) body = ''
  const infos = random.chance(0.12) ? random.list(2, () => random.pick(INFOS)).join('') : ''
  const garbage = random.chance(0.07) ? random.pick(GARBAGE) : ''
  const close = random.chance(0.96) ? '\r\n\r\n' : random.pick(['\n\n', '\r\n\n', '\r\n', '\r\r\n'])
  if (end === 'keep' && random.chance(0.15)) end = random.pick(['fin', 'fin', 'rst'])
  return sent(`${infos}${line}\r\n${lines.join('\r\n')}${close}${body}${garbage}`, end)
}

/** A response whose header block is just below, or just over, the limit. */
export function largeResponse(random: Random, most: number): Sent {
  const start = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n'
  const size =
    most + random.pick([-60, -20, -10, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 20, 60, 400])
  const left = size - start.length - 'X-Long: \r\n\r\n'.length
  return sent(`${start}X-Long: ${'l'.repeat(left)}\r\n\r\n{}`)
}

/** The same response in pieces, as networks and servers cut it. */
export function inPieces(random: Random, response: Sent, marker: number): AppResponse {
  const { text, end } = response
  const style = random.next()
  const body = text.indexOf('\r\n\r\n') + 4
  let pieces: string[] = [text]
  if (style < 0.12 && body > 3 && body < text.length)
    pieces = [text.slice(0, body), text.slice(body)]
  else if (style < 0.3) pieces = cut(random, text, random.pick([2, 2, 3, 6]))
  return { marker, at: 'whole', pieces, gap: random.pick([0, 1, 1, 2, 4]), end }
}

/** A text cut at random places. */
export function cut(random: Random, text: string, most: number): string[] {
  return random.cut(Buffer.from(text, 'latin1'), most).map((piece) => piece.toString('latin1'))
}
