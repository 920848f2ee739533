import { gzipSync } from 'node:zlib'
import { chunk, type Script } from '../support/wire.ts'
import type { Random } from '../support/random.ts'

/** A generated exchange: the request of the client and the response of the server. */
export interface PlannedExchange {
  readonly id: string
  readonly method: string
  readonly request: Buffer
  readonly script: Script
  /** The client asked that the connection be closed after it. */
  readonly closes: boolean
}

/** The exchanges of one connection. */
export interface PlannedConnection {
  readonly exchanges: readonly PlannedExchange[]
  readonly pipelined: boolean
}

const HOST = 'pod.example:8080'
const METHODS =
  'GET POST PUT DELETE PATCH OPTIONS HEAD PROPFIND PROPPATCH MKCOL REPORT COPY MOVE LOCK UNLOCK SEARCH M-SEARCH PURGE LINK NOTIFY SUBSCRIBE TRACE'.split(
    ' ',
  )
const NAMES =
  'accept accept-encoding accept-language user-agent cookie referer origin authorization cache-control pragma via forwarded x-forwarded-for x-request-id mcp-session-id mcp-protocol-version mcp-method mcp-name last-event-id if-none-match range priority from dnt sec-fetch-mode'.split(
    ' ',
  )
const RESPONSE_NAMES =
  'server date vary set-cookie cache-control etag x-accel-buffering mcp-session-id www-authenticate retry-after access-control-allow-origin access-control-expose-headers content-disposition last-modified expires link allow age warning strict-transport-security'.split(
    ' ',
  )
const STATUSES = [
  '200 OK',
  '200 OK',
  '200 ',
  '201 Created',
  '202 Accepted',
  '204 No Content',
  '206 Partial',
  '301 Moved',
  '304 Not Modified',
  '400 Bad Request',
  '401 Unauthorized',
  '404 Nicht gefunden',
  '405 Method Not Allowed',
  "418 I'm a teapot",
  '429 Too Many',
  '500 Oops',
  '503 Service Unavailable',
  '599 Odd',
  '299 caf\u00e9',
]
const TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
const VISIBLE = ' !"#$%&\'()*+,-./0123456789:;<=>?@ABCXYZ[\\]^_`abcxyz{|}~'
const LATIN = `${VISIBLE}\t\u0080\u0085\u00a0\u00e9\u00fc\u00ff`
const TARGETS = [
  '/',
  '/mcp',
  '/mcp?a=1&b=%zz',
  '//double//slash',
  '/a/../b/./c',
  '/%00%2f%C3%A9',
  "/!$&'()*+,;=:@-._~",
  '/sse?sessionId=1',
  '/q?x={"a":1}|^`',
  '/?',
]

const edgeless = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '')

function casing(random: Random, name: string): string {
  const style = random.int(0, 3)
  if (style === 0) return name
  if (style === 1) return name.toUpperCase()
  if (style === 2) return name.replace(/(^|-)[a-z]/g, (part) => part.toUpperCase())
  return Array.from(name, (letter) => (random.chance(0.5) ? letter.toUpperCase() : letter)).join('')
}

function headerLines(random: Random, names: readonly string[]): string[] {
  const lines = random.list(random.chance(0.05) ? 60 : 8, () => {
    const name = random.chance(0.7)
      ? casing(random, random.pick(names))
      : `x-${random.text(12, TOKEN)}`
    const long = random.chance(0.03) ? 2000 : 30
    const value = edgeless(random.text(long, random.chance(0.3) ? LATIN : VISIBLE))
    return `${name}:${random.chance(0.9) ? ' ' : random.pick(['', '  ', '\t'])}${value}\r\n`
  })
  // A repeat, near or far from the first.
  if (lines.length > 1 && random.chance(0.3))
    lines.splice(random.int(0, lines.length), 0, lines[0]!)
  return lines
}

function shuffled(random: Random, lines: string[]): string {
  for (let i = lines.length - 1; i > 0; i--) {
    const j = random.int(0, i)
    ;[lines[i], lines[j]] = [lines[j]!, lines[i]!]
  }
  return lines.join('')
}

/** A pool of noise: making 20 MiB byte by byte would take longer than sending it. */
function noise(random: Random, size: number): Buffer {
  const bytes = random.bytes(Math.min(size, 4096))
  return size <= 4096 ? bytes : Buffer.alloc(size, bytes)
}

function bodySize(random: Random): number {
  const draw = random.next()
  if (draw < 0.25) return random.int(0, 2)
  if (draw < 0.9) return random.int(3, 2000)
  if (draw < 0.985) return random.int(2001, 100_000)
  return random.int(100_001, 1_500_000)
}

function rpcBody(random: Random): string {
  const id = random.pick(['0', '1', '-7', '"1"', '"\u65e5\u672c"', '9007199254740993', 'null'])
  const call = `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"n":12345678901234567890,"t":"${random.text(40, 'abc \\\\')}"}},"id":${id}}`
  return random.pick([
    call,
    ` \n${call}\r\n`,
    `[${call},${call}]`,
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":3,"result":{}}',
    '{"method":"tools/call"',
    '',
    call.replace('}},', `,"pad":"${'x'.repeat(random.int(0, 70_000))}"}},`),
  ])
}

interface Encoded {
  readonly lines: string[]
  readonly bytes: Buffer
}

/** A body with a declared length, or in chunks with or without trailers. */
function encode(random: Random, body: Buffer, chunked: boolean): Encoded {
  if (!chunked)
    return { lines: [`${casing(random, 'content-length')}: ${body.length}\r\n`], bytes: body }
  const parts = random.cut(body, body.length > 4096 ? 40 : 6).map((part) => chunk(part))
  const trailers = random.chance(0.3)
    ? random.list(3, () => `X-T${random.text(5, TOKEN)}: ${edgeless(random.text(20, LATIN))}\r\n`)
    : []
  const last = Buffer.from(`0\r\n${trailers.join('')}\r\n`, 'latin1')
  const coding = random.pick(['chunked', 'chunked', 'Chunked'])
  const lines = [`${casing(random, 'transfer-encoding')}: ${coding}\r\n`]
  if (trailers.length > 0 && random.chance(0.5)) lines.push('Trailer: X-T\r\n')
  return { lines, bytes: Buffer.concat([...parts, last]) }
}

function planRequest(
  random: Random,
  id: string,
  last: boolean,
  big: number,
): Omit<PlannedExchange, 'script'> {
  const rpc = big === 0 && random.chance(0.35)
  const method = rpc || big > 0 ? 'POST' : random.pick(METHODS)
  const old = big === 0 && random.chance(0.12)
  const lines = [`Host: ${HOST}\r\n`, `X-Script: ${id}\r\n`, ...headerLines(random, NAMES)]
  const withBody = rpc || big > 0 || (method !== 'HEAD' && method !== 'TRACE' && random.chance(0.4))
  let bytes: Buffer = Buffer.alloc(0)
  if (withBody) {
    const body = rpc
      ? Buffer.from(rpcBody(random))
      : noise(random, big > 0 ? big : bodySize(random))
    const encoded = encode(random, body, !old && random.chance(0.5))
    lines.push(...encoded.lines)
    bytes = encoded.bytes
    if (rpc)
      lines.push(
        `Content-Type: ${random.pick(['application/json', 'application/json; charset=utf-8', 'Application/JSON'])}\r\n`,
      )
  }
  const closes = last && (old ? random.chance(0.5) : random.chance(0.2))
  if (old && !closes) lines.push('Connection: keep-alive\r\n')
  else if (closes && !old) lines.push('Connection: close\r\n')
  else if (!old && random.chance(0.1))
    lines.push('Connection: keep-alive\r\n', 'Keep-Alive: timeout=9\r\n')
  if (!old && random.chance(0.05)) lines.push('TE: trailers\r\n')
  const target = method === 'OPTIONS' && random.chance(0.3) ? '*' : random.pick(TARGETS)
  const head = `${method} ${target} HTTP/${old ? '1.0' : '1.1'}\r\n${shuffled(random, lines)}\r\n`
  return { id, method, closes, request: Buffer.concat([Buffer.from(head, 'latin1'), bytes]) }
}

function infoLines(random: Random): string {
  const one = (): string =>
    random.pick([
      'HTTP/1.1 102 Processing\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nlink: </b.js>\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nX-Odd: \u00e9\r\n\r\n',
    ])
  return Array.from({ length: random.int(1, 3) }, one).join('')
}

function planResponse(
  random: Random,
  request: { method: string; old: boolean; last: boolean; big: number },
): Script {
  const status = random.pick(STATUSES)
  const lines = headerLines(random, RESPONSE_NAMES)
  const bodiless = status.startsWith('204') || status.startsWith('304')
  let body = noise(random, request.big > 0 ? request.big : bodySize(random))
  if (random.chance(0.15)) {
    body = gzipSync(body)
    lines.push('Content-Encoding: gzip\r\n')
  }
  // A response to HEAD ends with its head: closing behind it would race with the next request.
  const delimited = request.last && !bodiless && request.method !== 'HEAD' && random.chance(0.15)
  let bytes: Buffer = Buffer.alloc(0)
  if (delimited) {
    bytes = body
  } else if (!bodiless || (status.startsWith('304') && random.chance(0.5))) {
    const encoded = encode(random, body, !request.old && !bodiless && random.chance(0.5))
    lines.push(...encoded.lines)
    bytes = encoded.bytes
  }
  if (request.method === 'HEAD' || bodiless) bytes = Buffer.alloc(0)
  if (random.chance(0.1)) lines.push('Connection: keep-alive\r\n', 'Keep-Alive: timeout=30\r\n')
  const infos = !request.old && random.chance(0.1) ? infoLines(random) : ''
  const head = Buffer.from(`${infos}HTTP/1.1 ${status}\r\n${shuffled(random, lines)}\r\n`, 'latin1')
  const pieces = random.cut(Buffer.concat([head, bytes]), random.pick([1, 1, 2, 5, 30]))
  return async (exchange) => {
    await exchange.send(pieces)
    if (delimited) exchange.fin()
  }
}

/**
 * Thinks up connections until they hold `count` exchanges; `bigs` are body sizes for the first
 * ones.
 */
export function planConnections(
  random: Random,
  count: number,
  bigs: readonly number[],
): PlannedConnection[] {
  const connections: PlannedConnection[] = []
  for (let made = 0; made < count;) {
    const big = bigs[connections.length] ?? 0
    const size = Math.min(count - made, random.int(1, 5))
    const exchanges: PlannedExchange[] = []
    for (let i = 0; i < size; i++) {
      const last = i === size - 1
      const request = planRequest(random, `e${made + i}`, last, big)
      const old = request.request.includes(' HTTP/1.0\r\n')
      const script = planResponse(random, { method: request.method, old, last, big })
      exchanges.push({ ...request, script })
    }
    connections.push({ exchanges, pipelined: big === 0 && random.chance(0.3) })
    made += size
  }
  return connections
}
