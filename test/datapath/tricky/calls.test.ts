import { afterEach, expect, test } from 'vitest'
import {
  chunk,
  exchange,
  metricBecomes,
  metricValue,
  OPEN_STREAM,
  RawClient,
  response,
  rpcPost,
  type Script,
  type ScriptedSidecar,
  startSidecar,
  STREAM_HEAD,
  toolCall,
} from '../../support/wire.ts'

let squall: ScriptedSidecar

afterEach(() => squall.close())

const json =
  (body: string, status = '200 OK'): Script =>
  (e) =>
    void e.write(response(status, ['Content-Type', 'application/json'], body))

test('13 a call is sent once, whatever the upstream does with it', async () => {
  squall = await startSidecar({ upstream: { script: (e) => e.reset() } })
  for (let i = 0; i < 20; i++) {
    const client = await RawClient.connect(squall.port)
    await client.send(toolCall(i), 'POST')
    expect(await client.gone).toBe('reset')
  }
  expect(squall.app.requests).toHaveLength(20)
})

test('14 in HTTP+SSE, the endpoint passes as the upstream wrote it', async () => {
  const event = 'event: endpoint\ndata: /message?sessionId=abc\n\n'
  squall = await startSidecar({
    upstream: { script: (e) => void e.send([STREAM_HEAD, chunk(event)]) },
  })
  const client = await RawClient.connect(squall.port)
  await client.send('GET /sse HTTP/1.1\r\nHost: pod\r\nAccept: text/event-stream\r\n\r\n')
  expect(await client.sees(event)).toBe(true)
  client.close()
})

/** An upstream of protocol version 2024-11-05: 202 to each POST, everything else on the stream. */
const oldApp: Script = async (e) => {
  if (e.request.method === 'POST') await e.write(response('202 Accepted', [], 'Accepted'))
  else await e.send([STREAM_HEAD, chunk('event: endpoint\ndata: /message?sessionId=abc\n\n')])
}

const oldPost = (message: string): string =>
  rpcPost(message).replace('/mcp', '/message?sessionId=abc')

test('15 in HTTP+SSE, a call ends when its response arrives on the other connection', async () => {
  squall = await startSidecar({ upstream: { script: oldApp } })
  const stream = await RawClient.connect(squall.port)
  await stream.send('GET /sse HTTP/1.1\r\nHost: pod\r\nAccept: text/event-stream\r\n\r\n')
  await stream.sees('sessionId=abc')
  const call = '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"old"}}'
  const { response: given } = await exchange(squall.port, oldPost(call), 'POST')
  expect(given!.status).toBe(202)
  expect(metricValue(await squall.metrics(), 'squall_calls_total')).toBe(0)
  expect(await metricBecomes(squall, 1, 'squall_in_flight_requests')).toBe(1)
  squall.app.connections[0]!.socket.write(
    chunk('event: message\ndata: {"jsonrpc":"2.0","id":0,"result":{"isError":true}}\n\n'),
  )
  expect(
    await metricBecomes(squall, 1, 'squall_calls_total', {
      tool: 'old',
      outcome: 'tool_error',
    }),
  ).toBe(1)
  stream.close()
})

test.each(['one array', 'several events'])(
  '16 the calls of a batch are counted each, answered by %s',
  async (form) => {
    const results = [
      '{"jsonrpc":"2.0","id":2,"result":{"isError":true}}',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ]
    const script: Script =
      form === 'one array'
        ? json(`[${results.join(',')}]`)
        : (e) =>
            void e.send([
              STREAM_HEAD,
              ...results.map((one) => chunk(`data: ${one}\n\n`)),
              '0\r\n\r\n',
            ])
    squall = await startSidecar({ upstream: { script } })
    const call = (id: number): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"t${id}"}}`
    await exchange(
      squall.port,
      rpcPost(`[${call(1)},{"jsonrpc":"2.0","method":"notifications/x"},${call(2)}]`),
      'POST',
    )
    expect(
      await metricBecomes(squall, 1, 'squall_calls_total', { tool: 't1', outcome: 'ok' }),
    ).toBe(1)
    expect(
      await metricBecomes(squall, 1, 'squall_calls_total', {
        tool: 't2',
        outcome: 'tool_error',
      }),
    ).toBe(1)
  },
)

test('17 a response or a notification that the client posts is no call', async () => {
  squall = await startSidecar({
    upstream: { script: (e) => void e.write(response('202 Accepted', [], '')) },
  })
  for (const message of [
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
  ]) {
    expect((await exchange(squall.port, rpcPost(message), 'POST')).response!.status).toBe(202)
  }
  expect(
    await metricBecomes(squall, 3, 'squall_http_requests_total', {
      class: 'mcp',
      code: '202',
    }),
  ).toBe(3)
  expect(metricValue(await squall.metrics(), 'squall_calls_total')).toBe(0)
})

test('18 a request of the server with the id of a running call does not end it', async () => {
  squall = await startSidecar({
    upstream: {
      script: (e) =>
        void e.send([
          STREAM_HEAD,
          chunk('data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}\n\n'),
        ]),
    },
  })
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(1, 'asks'), 'POST')
  await client.sees('createMessage')
  expect(metricValue(await squall.metrics(), 'squall_calls_total')).toBe(0)
  squall.app.connections[0]!.socket.write(
    `${chunk('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n').toString()}0\r\n\r\n`,
  )
  await client.response()
  expect(
    await metricBecomes(squall, 1, 'squall_calls_total', { tool: 'asks', outcome: 'ok' }),
  ).toBe(1)
  client.close()
})

test.each(['400 Bad Request', '404 Not Found'])(
  '23 a %s to a probe reaches the client word for word',
  async (status) => {
    const body =
      '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: no session"},"id":null}'
    squall = await startSidecar({ upstream: { script: json(body, status) } })
    const probe =
      '{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{}}'
    const { response: given } = await exchange(
      squall.port,
      rpcPost(probe, 'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n'),
      'POST',
    )
    expect([`${given!.status} ${given!.reason}`, given!.body.toString()]).toEqual([status, body])
  },
)

test('25 a round trip for more input keeps its state untouched, and each of its requests has its response', async () => {
  const state = 'b\\/x+==\\u00e9'
  const asks = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"${state}","inputRequests":{}}}`
  const done = '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}'
  squall = await startSidecar({
    upstream: {
      script: (e) => json(e.request.body.includes('requestState') ? done : asks)(e),
    },
  })
  const lines = 'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: t\r\n'
  const first = await exchange(squall.port, toolCall(1, 't', lines), 'POST')
  const retry = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","requestState":"${state}","inputResponses":{}}}`
  const second = await exchange(squall.port, rpcPost(retry, lines), 'POST')
  expect(first.response!.body.toString()).toBe(asks)
  expect(second.response!.body.toString()).toBe(done)
  expect(squall.app.requests[1]!.body.toString()).toBe(retry)
  expect(metricValue(await squall.metrics(), 'squall_calls_total', { outcome: 'rpc_error' })).toBe(
    0,
  )
})

test.each(['0', '"0"', '-3', '"\u65e5"'])(
  '29 when Squall has to answer a call itself, it echoes the id %s and says who speaks',
  async (id) => {
    squall = await startSidecar({ upstream: {} })
    await squall.app.close()
    const call = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"t"}}`
    const { response: given } = await exchange(squall.port, rpcPost(call), 'POST')
    expect(given!.status).toBe(502)
    const body = JSON.parse(given!.body.toString()) as {
      jsonrpc: string
      id: unknown
      error: object
    }
    expect([body.jsonrpc, body.id]).toEqual(['2.0', JSON.parse(id)])
    expect(given!.headers.map((part) => part.toLowerCase())).toContain('x-squall-error')
    expect(await metricBecomes(squall, 1, 'squall_calls_total', { origin: 'squall' })).toBe(1)
  },
)

test("a stream that is opened twice is the upstream's to refuse", async () => {
  squall = await startSidecar({
    upstream: {
      script: json(
        '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Conflict"},"id":null}',
        '409 Conflict',
      ),
    },
  })
  expect((await exchange(squall.port, OPEN_STREAM)).response!.status).toBe(409)
})
