import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import {
  metricBecomes,
  metricValue,
  RawClient,
  type ScriptedSidecar,
  startSidecar,
  toolCall,
  valueOf,
} from '../support/wire.ts'

const opened = closers()
const HOST = 'Host: pod\r\n'
const POST = `POST / HTTP/1.1\r\n${HOST}`
const JSON_POST = `${POST}Content-Type: application/json\r\n`
const GET = `GET /x HTTP/1.1\r\n${HOST}`

interface Told {
  readonly status: number | undefined
  readonly reason: string | undefined
  readonly message: string
}

/** The response to a client whose bytes are rejected. */
async function reported(squall: ScriptedSidecar, bytes: string): Promise<Told> {
  const client = opened(await RawClient.connect(squall.port))
  await client.send(bytes, 'POST')
  const given = await client.response()
  await client.gone
  const { error } = JSON.parse(given!.body.toString()) as { error: { message: string } }
  return {
    status: given?.status,
    reason: valueOf(given!.headers, 'x-squall-error'),
    message: error.message.replace('squall: ', ''),
  }
}

describe('a request that is refused says which thing is wrong, and what to send instead', () => {
  test.each([
    ['an unknown method', `BREW / HTTP/1.1\r\n${HOST}\r\n`, 'unknown method'],
    ['a method in small letters', `get / HTTP/1.1\r\n${HOST}\r\n`, 'in uppercase'],
    ['UTF-8 in the target', `GET /\xc3\xbc HTTP/1.1\r\n${HOST}\r\n`, 'percent-encode it'],
    ['a space in the target', `GET /a b HTTP/1.1\r\n${HOST}\r\n`, 'percent-encode spaces'],
    ['bare line feeds', `GET / HTTP/1.1\n${HOST}\n`, 'end each line with CR LF'],
    ['one bare line feed', `GET / HTTP/1.1\r\nHost: pod\nX: y\r\n\r\n`, 'end each line with CR LF'],
    ['a bare carriage return', `GET / HTTP/1.1\r\nX: y\rZ: y\r\n\r\n`, 'end each line with CR LF'],
    ['a folded header', `${GET}X: a\r\n b\r\n\r\n`, 'send each header on one line'],
    ['a space before the colon', `${GET}X : a\r\n\r\n`, 'a header name'],
    ['a control character in a value', `${GET}X: a\0b\r\n\r\n`, 'a header value'],
    [
      'two equal lengths',
      `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
      'duplicate Content-Length',
    ],
    [
      'two differing lengths',
      `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      'duplicate Content-Length',
    ],
    ['a list of equal lengths', `${POST}Content-Length: 2, 2\r\n\r\n{}`, 'a decimal number'],
    ['a length with a sign', `${POST}Content-Length: +2\r\n\r\n{}`, 'a decimal number'],
    [
      'a length and chunks',
      `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'send only one of them',
    ],
    [
      'chunks and a length',
      `${POST}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`,
      'send only one of them',
    ],
    ['another transfer coding', `${POST}Transfer-Encoding: chunked, gzip\r\n\r\n`, 'use chunked'],
    ['no size of a chunk', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 'hexadecimal digits'],
    [
      'endless chunk extensions',
      `${POST}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\n`,
      'remove them',
    ],
  ])('%s', async (_, bytes, message) => {
    const squall = opened(await startSidecar({ upstream: {} }))
    const given = await reported(squall, bytes)
    expect(given).toMatchObject({ status: 400, reason: 'bad_request' })
    expect(given.message).toContain(message)
    expect(squall.app.requests).toHaveLength(0)
  })

  test('a chunk before an invalid one is not taken for a lack of memory', async () => {
    const squall = opened(await startSidecar({ upstream: {} }))
    const bytes = `${JSON_POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n`
    expect(await reported(squall, bytes)).toMatchObject({ status: 400 })
    expect(await squall.metrics()).not.toMatch(
      /squall_(unclassified|memory_pressure)_total.*[1-9]$/m,
    )
    expect(squall.app.connections).toHaveLength(0)
  })

  test.each([
    ['HTTP/2.0', `POST / HTTP/2.0\r\n${HOST}Content-Length: 0\r\n\r\n`],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9 that is said', `GET / HTTP/0.9\r\n${HOST}\r\n`],
    ['HTTP/0.9 that is not said', 'GET /\r\n\r\n'],
    ['HTTP/1.2', `GET / HTTP/1.2\r\n${HOST}\r\n`],
    ['HTTP/3.0', `GET / HTTP/3.0\r\n${HOST}\r\n`],
    [
      'an upgrade of HTTP/2.0',
      `GET / HTTP/2.0\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    ],
    [
      'an offer of h2c in HTTP/2.0',
      `GET / HTTP/2.0\r\n${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n`,
    ],
  ])('%s is answered with 505', async (_, bytes) => {
    const squall = opened(await startSidecar({ upstream: {} }))
    expect(await reported(squall, bytes)).toEqual({
      status: 505,
      reason: 'bad_request',
      message: 'only HTTP/1.0 and HTTP/1.1 are supported; send HTTP/1.1',
    })
    expect(squall.app.connections).toHaveLength(0)
  })
})

/**
 * Behind `Connection: close` a server must process no further request (RFC 9112, 9.6). One that
 * does can be made to carry out what the client, or a proxy in front, takes for dropped. And what
 * comes there must not harm the request before it.
 */
describe('behind a request that ends its connection', () => {
  const CLOSING = [
    ['Connection: close', toolCall(1, 'echo', 'Connection: close\r\n')],
    ['HTTP/1.0', toolCall(1).replace('HTTP/1.1', 'HTTP/1.0')],
    [
      'an offer of h2c with Connection: close',
      `GET /x HTTP/1.1\r\n${HOST}Connection: close, Upgrade\r\nUpgrade: h2c\r\n\r\n`,
    ],
  ] as const
  const BEHIND = [
    ['another call', toolCall(2)],
    ['bytes that are no request', '\0\x01\x02 nothing\r\n\r\n'],
  ] as const

  describe.each(CLOSING)('%s', (_, first) => {
    test.each(BEHIND)('%s is not processed, in one piece and in two', async (__, second) => {
      const squall = opened(await startSidecar({ upstream: {} }))
      const { app } = squall
      for (const pieces of [[first + second], [first, second]]) {
        const before = app.requests.length
        const client = opened(await RawClient.connect(squall.port))
        await client.send(pieces, 'POST')
        expect((await client.response())?.status).toBe(200)
        await client.gone
        expect(client.responses).toHaveLength(1)
        expect(app.requests).toHaveLength(before + 1)
      }
      expect(await squall.metrics()).not.toMatch(/squall_rejected_total\{.*[1-9]$/m)
    })
  })
})

/**
 * A client that pipelines without end and reads nothing makes a server that starts every request
 * hold them all, with their bodies and connections to the upstream.
 */
test.each([6, 7])(
  'pipelined requests of %i lines wait until the first are answered',
  async (lines) => {
    const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
    const held: (() => void)[] = []
    let open = false
    const squall = opened(
      await startSidecar({
        upstream: {
          script: (each) => {
            if (open || each.request.method === 'GET') void each.write(OK)
            else held.push(() => void each.write(OK))
          },
        },
      }),
    )
    const client = opened(await RawClient.connect(squall.port))
    const total = 1000
    const calls = Array.from({ length: total }, (_, id) =>
      // node:http gets 48 lines at a time: of these, whole requests or a part of the last one.
      toolCall(id, 'echo', lines === 6 ? '' : 'Content-Language: en\r\n'),
    )
    const sent = client.send(calls.join(''), 'POST')
    await squall.app.received(4)
    // These are read behind whatever is read of the first connection.
    const other = opened(await RawClient.connect(squall.port))
    for (let i = 0; i < 10; i++) {
      await other.send(`${GET}\r\n`, 'GET')
      expect((await other.response(i))?.status).toBe(200)
    }
    // All requests of the piece in which the fourth comes are begun.
    expect(held.length).toBeGreaterThanOrEqual(4)
    expect(held.length).toBeLessThan(24)
    open = true
    for (const response of held) response()
    await sent
    expect((await client.response(total - 1))?.status).toBe(200)
  },
)

describe.each(['fast', 'standard'] as const)(
  'a request that is rejected in its body (%s)',
  (engine) => {
    const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n'
    test.each([
      ['an invalid chunk of a stream', `${POST}${CHUNKED}ZZ\r\n`, '400'],
      ['an invalid chunk of a call', `${JSON_POST}${CHUNKED}ZZ\r\n`, '400'],
      ['large trailers', `${JSON_POST}${CHUNKED}0\r\nX: ${'h'.repeat(70_000)}\r\n\r\n`, '431'],
      ['an end before the length', `${JSON_POST}Content-Length: 10\r\n\r\n{`, '400'],
    ])('counts with its status: %s', async (_what, bytes, code) => {
      const squall = opened(await startSidecar({ upstream: { script: () => undefined }, engine }))
      const client = opened(await RawClient.connect(squall.port))
      await client.send(bytes, 'POST')
      client.socket.end()
      const given = await client.response()
      expect(String(given?.status)).toBe(code)
      await client.gone
      const labels = { code, origin: 'squall' }
      expect(await metricBecomes(squall, 1, 'squall_http_requests_total', labels)).toBe(1)
      const text = await squall.metrics()
      expect(metricValue(text, 'squall_http_requests_total')).toBe(1)
      expect(metricValue(text, 'squall_rejected_total')).toBe(1)
    })
  },
)
