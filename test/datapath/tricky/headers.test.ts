import { afterEach, expect, test } from 'vitest'
import {
  exchange,
  metricBecomes,
  response,
  rpcPost,
  type ScriptedSidecar,
  startSidecar,
  toolCall,
  valueOf,
} from '../../support/wire.ts'

let squall: ScriptedSidecar

afterEach(() => squall.close())

test('05 Host and Origin reach the upstream as the client sent them, and its 403 reaches the client', async () => {
  squall = await startSidecar({
    upstream: { script: (e) => void e.write(response('403 Forbidden', [], 'bad origin')) },
  })
  const request =
    'POST /mcp HTTP/1.1\r\nHOST: Evil.example:99\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n'
  const { response: given } = await exchange(squall.port, request, 'POST')
  const { headers } = squall.app.requests[0]!
  expect(headers.slice(0, 4)).toEqual(['HOST', 'Evil.example:99', 'Origin', 'http://evil.example'])
  expect([given!.status, given!.body.toString()]).toEqual([403, 'bad origin'])
})

test("06 all of the protocol's headers reach the upstream, and only those of the hop do not", async () => {
  squall = await startSidecar({ upstream: {} })
  const own = [
    'Mcp-Session-Id',
    's',
    'MCP-Protocol-Version',
    '2025-06-18',
    'Mcp-Method',
    'tools/call',
    'mcp-name',
    'a',
    'Mcp-Param-Region',
    'eu',
    'MCP-Future',
    'f',
    'Last-Event-ID',
    '9',
    'AUTHORIZATION',
    'Bearer t',
    'X-Forwarded-For',
    '1.2.3.4',
    'traceparent',
    '00-1-2-03',
  ]
  let lines = ''
  for (let i = 0; i < own.length; i += 2) lines += `${own[i]!}: ${own[i + 1]!}\r\n`
  const hop =
    'Connection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nX-Hop: 1\r\nTE: gzip\r\n'
  await exchange(squall.port, `GET /mcp HTTP/1.1\r\nHost: pod\r\n${hop}${lines}\r\n`)
  expect(
    squall.app.requests[0]!.headers.filter(
      (_, i, all) => (all[i - (i % 2)] ?? '') !== 'Connection',
    ),
  ).toEqual(['Host', 'pod', ...own])
})

test('07 what clients act on in a response survives, in order and with its repeats', async () => {
  const lines = [
    'Mcp-Session-Id',
    'new',
    'WWW-Authenticate',
    'Bearer error="invalid_token"',
    'WWW-Authenticate',
    'Basic',
    'Retry-After',
    '3',
    'Allow',
    'GET, POST',
    'Access-Control-Expose-Headers',
    'Mcp-Session-Id',
    'access-control-allow-origin',
    '*',
    'Set-Cookie',
    'a=1',
    'set-cookie',
    'b=2',
    'X-Accel-Buffering',
    'no',
  ]
  squall = await startSidecar({
    upstream: { script: (e) => void e.write(response('401 Unauthorized', lines, '')) },
  })
  const { response: given } = await exchange(squall.port, toolCall(1), 'POST')
  expect(given!.headers.slice(0, lines.length)).toEqual(lines)
})

test('21 an encoded name is read for what it says and passed on as it is, also when it does not fit the body', async () => {
  squall = await startSidecar({
    upstream: {
      script: (e) =>
        void e.write(
          response(
            '400 Bad Request',
            ['Content-Type', 'application/json'],
            '{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"mismatch"}}',
          ),
        ),
    },
  })
  const lines =
    'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: =?base64?5pel5pys?=\r\n'
  const { response: given } = await exchange(squall.port, toolCall(1, 'other', lines), 'POST')
  expect(valueOf(squall.app.requests[0]!.headers, 'mcp-name')).toBe('=?base64?5pel5pys?=')
  expect(given!.body.toString()).toContain('-32020')
})

test('22 a legacy call is known by its body, and a stray Mcp-Method does not change that', async () => {
  squall = await startSidecar({
    upstream: {
      script: (e) =>
        void e.write(
          response(
            '200 OK',
            ['Content-Type', 'application/json'],
            '{"jsonrpc":"2.0","id":1,"result":{}}',
          ),
        ),
    },
  })
  await exchange(squall.port, toolCall(1, 'plain'), 'POST')
  await exchange(
    squall.port,
    toolCall(1, 'stray', 'MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: ping\r\nMcp-Name: x\r\n'),
    'POST',
  )
  expect(
    await metricBecomes(squall, 1, 'squall_calls_total', {
      method: 'tools/call',
      tool: 'plain',
    }),
  ).toBe(1)
  expect(
    await metricBecomes(squall, 1, 'squall_calls_total', {
      method: 'tools/call',
      tool: 'stray',
    }),
  ).toBe(1)
})

test.each([
  ['-32001', 'Session not found'],
  ['-32601', 'Method not found'],
])('24 a 404 with %s reaches the client with its body', async (code, message) => {
  const body = `{"jsonrpc":"2.0","error":{"code":${code},"message":"${message}"},"id":null}`
  squall = await startSidecar({
    upstream: {
      script: (e) =>
        void e.write(response('404 Not Found', ['Content-Type', 'application/json'], body)),
    },
  })
  const { response: given } = await exchange(squall.port, toolCall(1), 'POST')
  expect([given!.status, given!.body.toString()]).toEqual([404, body])
})

test.each([
  ['GET', '/.well-known/oauth-protected-resource/mcp', '200 OK'],
  ['POST', '/token', '200 OK'],
  ['GET', '/authorize?response_type=code', '302 Found'],
  ['OPTIONS', '/mcp', '204 No Content'],
  ['DELETE', '/mcp', '200 OK'],
  ['DELETE', '/mcp', '405 Method Not Allowed'],
  ['GET', '/mcp', '405 Method Not Allowed'],
])('30 %s %s passes, and so does its %s', async (method, target, status) => {
  const lines = ['Access-Control-Allow-Origin', '*', 'Location', '/x', 'Allow', 'POST']
  squall = await startSidecar({
    upstream: {
      script: (e) =>
        void e.write(
          status.startsWith('204') ? response(status, lines) : response(status, lines, 'body'),
        ),
    },
  })
  const { response: given } = await exchange(
    squall.port,
    `${method} ${target} HTTP/1.1\r\nHost: pod\r\nMcp-Session-Id: s\r\n\r\n`,
    method,
  )
  expect(`${given!.status} ${given!.reason}`).toBe(status)
  expect(given!.headers.slice(0, 6)).toEqual(lines)
  expect(squall.app.requests[0]!.target).toBe(target)
})

test('30 calls side by side share nothing: same ids, own responses', async () => {
  squall = await startSidecar({
    upstream: {
      script: async (e) => {
        const { params } = JSON.parse(e.request.body.toString()) as { params: { name: string } }
        await new Promise((resolve) => setTimeout(resolve, Math.abs(params.name.length % 7)))
        await e.write(
          response(
            '200 OK',
            ['Content-Type', 'application/json'],
            `{"jsonrpc":"2.0","id":1,"result":{"of":"${params.name}"}}`,
          ),
        )
      },
    },
  })
  const names = Array.from({ length: 50 }, (_, i) => 'n'.repeat(i + 1))
  const given = await Promise.all(
    names.map((name) => exchange(squall.port, toolCall(1, name), 'POST')),
  )
  expect(given.map(({ response: one }) => one!.body.toString())).toEqual(
    names.map((name) => `{"jsonrpc":"2.0","id":1,"result":{"of":"${name}"}}`),
  )
})

test('30 a notification is answered by the upstream alone', async () => {
  squall = await startSidecar({
    upstream: { script: (e) => void e.write(response('202 Accepted', [], '')) },
  })
  const { response: given } = await exchange(
    squall.port,
    rpcPost('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'),
    'POST',
  )
  expect(given!.status).toBe(202)
})
