import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type RawApp,
  RawClient,
  response,
  type ScriptedSidecar,
  startSidecar,
} from '../support/wire.ts'

let app: RawApp
let squall: ScriptedSidecar
let bad = ''

beforeAll(async () => {
  squall = await startSidecar({
    upstream: {
      script: async (e) => {
        if (e.request.target === '/good') await e.write(response('200 OK', ['X-App', '1'], 'good'))
        else await e.write(bad)
      },
    },
  })
  app = squall.app
})

afterAll(() => squall.close())

beforeEach(() => {
  app.requests.length = 0
})

const HIDDEN = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhidden'
const GOOD = 'GET /good HTTP/1.1\r\nHost: pod\r\n\r\n'

test.each([
  [
    'a length beside a coding',
    `HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    'two lengths',
    `HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde${HIDDEN}`,
  ],
  ['a length with a sign', `HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\nabcd${HIDDEN}`],
  ['a list of lengths', `HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nabcd${HIDDEN}`],
  [
    'a negative chunk',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\nabcd\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    'a chunk that is too long',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcdef\r\n0\r\n\r\n${HIDDEN}`,
  ],
  ['NUL in a value', `HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n${HIDDEN}`],
  [
    'a bare CR in a value',
    `HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n${HIDDEN}`,
  ],
  ['a blank before a colon', `HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\nabcd${HIDDEN}`],
  ['a folded header', `HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n${HIDDEN}`],
  [
    'a response that nobody asked for behind it',
    `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${HIDDEN}`,
  ],
  ['a body on 204', `HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n${HIDDEN}`],
  ['a body on 304', `HTTP/1.1 304 Not Modified\r\n\r\n${HIDDEN}`],
  ['a status of two digits', `HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n`],
  ['no HTTP at all', 'hello, world\r\n\r\n'],
  [
    'a switch of protocols that nobody asked for',
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n${HIDDEN}`,
  ],
])('a response with %s never becomes the response to the next request', async (_name, bytes) => {
  bad = bytes
  const client = await RawClient.connect(squall.port)
  await client.send('GET /bad HTTP/1.1\r\nHost: pod\r\n\r\n', 'GET')
  await Promise.race([client.response(), client.gone])
  if (client.closeState === undefined) {
    await client.send(GOOD, 'GET')
    const second = await client.response(1)
    if (second !== undefined) expect(second.body.toString()).toBe('good')
  }
  client.close()
  expect(client.violations).toEqual([])
  expect(client.text).not.toContain('hidden')
  // Nor for the next client, who may get the same connection to the upstream.
  const other = await RawClient.connect(squall.port)
  await other.send(GOOD, 'GET')
  expect((await other.response())?.body.toString()).toBe('good')
  other.close()
})
