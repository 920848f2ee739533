import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FRAMING_ATTACKS, type Attack } from './attacks.ts'
import { HEAD_ATTACKS } from './head-attacks.ts'
import {
  exchange,
  type RawApp,
  RawClient,
  response,
  type ScriptedSidecar,
  startSidecar,
  valueOf,
} from '../support/wire.ts'

/** The wait for the response to an attack that may get none. */
const SILENCE = 120

let app: RawApp
let squall: ScriptedSidecar
/** The number of requests that the server rejected before this attack. */
let refusedBefore = 0

beforeAll(async () => {
  squall = await startSidecar({
    upstream: { script: (e) => void e.write(response('200 OK', ['X-App', '1'], 'app')) },
  })
  app = squall.app
})

afterAll(() => squall.close())

beforeEach(() => {
  refusedBefore = app.violations().length
  app.requests.length = 0
})

const patienceFor = ({ verdict }: Attack): number => (verdict === 'passes' ? 10_000 : SILENCE)

/** Sends an attack and waits for a response, a cut, or silence. */
async function strike(bytes: string, patience = SILENCE): Promise<RawClient> {
  const client = await RawClient.connect(squall.port)
  const before = app.connections.length
  await client.send(bytes, bytes.startsWith('CONNECT') ? 'CONNECT' : 'GET')
  await Promise.race([client.gone, client.response(), sleep(patience)])
  // Gives a second request time to arrive.
  await sleep(5)
  client.close()
  await client.gone
  const opened = app.connections.slice(before).filter((connection) => connection.partial())
  await Promise.all(opened.map((connection) => connection.gone))
  return client
}

function checkUnambiguous({ verdict }: Attack, client: RawClient): void {
  expect(app.violations().slice(refusedBefore)).toEqual([])
  expect(client.violations).toEqual([])
  const targets = app.requests.map((request) => request.target)
  expect(targets, 'a hidden request reached the upstream').not.toContain('/hidden')
  expect(app.requests.length).toBeLessThanOrEqual(1)
  if (verdict === 'rejected') expect(targets).toEqual([])
  if (verdict === 'passes') expect(app.requests).toHaveLength(1)
  for (const { headers, status } of client.responses) {
    const fromApp = valueOf(headers, 'x-app') === '1'
    expect(fromApp || status >= 400, `answered ${status}`).toBe(true)
  }
}

describe('an attack on where the body ends is rejected or has one meaning', () => {
  test.each(FRAMING_ATTACKS)('$name', async (attack) => {
    checkUnambiguous(attack, await strike(attack.bytes, patienceFor(attack)))
  })
})

describe('an attack on the head is rejected or has one meaning', () => {
  test.each(HEAD_ATTACKS)('$name', async (attack) => {
    checkUnambiguous(attack, await strike(attack.bytes, patienceFor(attack)))
  })
})

test('after a refusal the connection is closed, so that nothing behind it is read', async () => {
  const client = await RawClient.connect(squall.port)
  await client.send(
    'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
  )
  await client.gone
  expect(client.responses[0]?.status).toBe(400)
  expect(app.requests).toEqual([])
})

test('a request hidden in a body never becomes the response to the next one', async () => {
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: pod\r\n\r\n'
  const first = `POST /first HTTP/1.1\r\nHost: pod\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`
  const client = await RawClient.connect(squall.port)
  await client.send(`${first}GET /second HTTP/1.1\r\nHost: pod\r\n\r\n`)
  await client.response(1)
  client.close()
  expect(app.requests.map((request) => request.target)).toEqual(['/first', '/second'])
  expect(client.responses).toHaveLength(2)
})

test.each([
  ['content-length', 'Content-Length: 2\r\n', 'hi', ['content-length']],
  ['host', '', '', ['host']],
  [
    'authorization, mcp-session-id',
    'Authorization: Bearer t\r\nMcp-Session-Id: s\r\n',
    '',
    ['authorization', 'mcp-session-id'],
  ],
  ['cookie, origin', 'Cookie: a=b\r\nOrigin: http://o\r\n', '', ['cookie', 'origin']],
  [
    'mcp-method, mcp-name, mcp-protocol-version',
    'Mcp-Method: a\r\nMcp-Name: b\r\nMCP-Protocol-Version: c\r\n',
    '',
    ['mcp-method', 'mcp-name', 'mcp-protocol-version'],
  ],
])('"Connection: %s" does not take these headers away', async (nominated, lines, body, kept) => {
  const method = body === '' ? 'GET' : 'POST'
  await exchange(
    squall.port,
    `${method} /mcp HTTP/1.1\r\nHost: pod\r\nConnection: ${nominated}\r\n${lines}\r\n${body}`,
  )
  const [request] = app.requests
  for (const name of kept) expect(valueOf(request!.headers, name), name).toBeDefined()
  expect(request!.body.toString()).toBe(body)
  expect(app.violations().slice(refusedBefore)).toEqual([])
})

test('"Connection: x-secret" takes the nominated header away', async () => {
  await exchange(
    squall.port,
    'GET / HTTP/1.1\r\nHost: pod\r\nX-Secret: 1\r\nConnection: close, X-Secret\r\n\r\n',
  )
  expect(valueOf(app.requests[0]!.headers, 'x-secret')).toBeUndefined()
})

test('a trailer cannot bring framing, Host or credentials to the upstream', async () => {
  const bad =
    'Content-Length: 9\r\nTransfer-Encoding: x\r\nHost: other\r\nAuthorization: x\r\nX-Fine: 1\r\n'
  await exchange(
    squall.port,
    `POST / HTTP/1.1\r\nHost: pod\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${bad}\r\n`,
  )
  for (const request of app.requests) {
    const names = request.trailers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
    expect(names.filter((name) => name !== 'x-fine')).toEqual([])
  }
})

test.each([
  ['an upgrade', 'GET', 'Connection: Upgrade\r\nUpgrade: websocket\r\n', ''],
  [
    'an upgrade with a body',
    'POST',
    'Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 3\r\n',
    'abc',
  ],
  [
    'an h2c offer',
    'GET',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n',
    '',
  ],
])(
  'what stands behind %s that the upstream refuses is not read by the upstream alone',
  async (_name, method, lines, body) => {
    const hidden =
      'GET /hidden HTTP/1.1\r\nHost: pod\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n'
    const client = await strike(
      `${method} /mcp HTTP/1.1\r\nHost: pod\r\n${lines}\r\n${body}${hidden}`,
    )
    expect(app.violations().slice(refusedBefore)).toEqual([])
    expect(app.requests.map((request) => request.target)).not.toContain('/hidden')
    expect(client.violations).toEqual([])
  },
)

test.each([
  ['two Hosts', 'Host: other\r\n'],
  ['two lengths', 'Content-Length: 0\r\nContent-Length: 0\r\n'],
  ['another coding', 'Transfer-Encoding: gzip, chunked\r\n'],
])('an upgrade with %s is rejected as any other request', async (_name, lines) => {
  await strike(
    `GET /ws HTTP/1.1\r\nHost: pod\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines}\r\n`,
  )
  expect(app.violations().slice(refusedBefore)).toEqual([])
  expect(app.requests).toEqual([])
})
