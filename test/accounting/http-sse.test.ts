import { afterEach, expect, test } from 'vitest'
import { type AppExchange, chunk, type RawClient, response } from '../support/wire.ts'
import {
  event,
  failure,
  get,
  LAST_CHUNK,
  POLL,
  post,
  posted,
  request,
  result,
  Stage,
  streamHead,
} from './stage.ts'

let stage: Stage
let streams: AppExchange[]
afterEach(() => stage.close())

const ACCEPTED = response('202 Accepted', [], 'Accepted')
const TTL = 40

/** An upstream of version 2024-11-05: the query of each GET selects the endpoint of its stream. */
async function open(accepted: Buffer | 'nothing' = ACCEPTED, options = {}): Promise<void> {
  streams = []
  stage = await Stage.open((exchange) => {
    if (exchange.request.method !== 'GET') {
      if (accepted !== 'nothing') void exchange.write(accepted)
      return
    }
    streams.push(exchange)
    const endpoint = `/message?sessionId=${exchange.request.target.split('?')[1] ?? ''}`
    void exchange.send([streamHead(), chunk(`event: endpoint\ndata: ${endpoint}\n\n`)])
  }, options)
}

async function listen(session: string): Promise<RawClient> {
  const client = await stage.send(get(`/sse?${session}`), 'GET')
  await client.sees('endpoint')
  return client
}

const call = (session: string, id: unknown, name = 'echo'): string =>
  post(request(id, 'tools/call', { name }), '', `/message?sessionId=${session}`)

test('a call is open until its response comes by the stream', async () => {
  await open()
  await listen('a')
  await stage.exchange(call('a', 1))
  expect(await stage.calls()).toEqual({})
  expect(await stage.gauges()).toMatchObject({ pending: 1, push: 1 })
  streams[0]!.socket.write(event(result(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
  expect(await stage.gauges()).toMatchObject({ pending: 0, push: 1 })
})

test('several calls are answered in one event', async () => {
  await open()
  await listen('a')
  for (const id of [1, 2]) await stage.exchange(call('a', id))
  const quiet = { jsonrpc: '2.0', method: 'notifications/message' }
  streams[0]!.socket.write(event([quiet, result(2), failure(1)]))
  await stage.ends({ 'tools/call echo: ok': 1, 'tools/call echo: rpc_error': 1 })
})

test('the endpoint may be announced behind other events', async () => {
  const quiet = event({ jsonrpc: '2.0', method: 'notifications/message' })
  stage = await Stage.open((exchange) => {
    if (exchange.request.method !== 'GET') return void exchange.write(ACCEPTED)
    streams = [exchange]
    const endpoint = chunk('event: endpoint\ndata: /message?sessionId=a\n\n')
    return void exchange.send([streamHead(), quiet, quiet, endpoint, quiet])
  })
  await listen('a')
  await stage.exchange(call('a', 1))
  streams[0]!.socket.write(Buffer.concat([quiet, event(result(1)), quiet]))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('servers that take a call with 200 and no response are understood', async () => {
  await open(response('200 OK', [], ''))
  await listen('a')
  await stage.exchange(call('a', 1))
  streams[0]!.socket.write(event(result(1, { isError: true })))
  await stage.ends({ 'tools/call echo: tool_error': 1 })
})

test('a response may come before its call is accepted', async () => {
  await open('nothing')
  await listen('a')
  const client = await stage.send(call('a', 1))
  const { connection } = await stage.app.received(2)
  streams[0]!.socket.write(event(failure(1)))
  await stage.ends({ 'tools/call echo: rpc_error': 1 })
  connection.socket.write(ACCEPTED)
  await client.response()
})

test('ids of one session do not close the calls of another', async () => {
  await open()
  await listen('a')
  await listen('b')
  await stage.exchange(call('a', 1, 'of a'))
  await stage.exchange(call('b', 1, 'of b'))
  await stage.exchange(call('b', '1', 'text'))
  streams[1]!.socket.write(event(failure(1)))
  await stage.ends({ 'tools/call of b: rpc_error': 1 })
  streams[0]!.socket.write(event(result(1)))
  await stage.ends({ 'tools/call of b: rpc_error': 1, 'tools/call of a: ok': 1 })
  streams[1]!.socket.write(event(result('1')))
  await stage.ends({
    'tools/call of b: rpc_error': 1,
    'tools/call of a: ok': 1,
    'tools/call text: ok': 1,
  })
})

test.each([
  ['ends', 'incomplete', (app: AppExchange) => void app.write(LAST_CHUNK)],
  ['is reset', 'reset', (app: AppExchange) => app.reset()],
  ['is cut', 'incomplete', (app: AppExchange) => app.fin()],
])('when the stream %s, its open calls end as %2$s', async (_how, outcome, act) => {
  await open()
  await listen('a')
  await listen('b')
  await stage.exchange(call('a', 1))
  await stage.exchange(call('a', 'two'))
  await stage.exchange(call('b', 1))
  act(streams[0]!)
  await stage.ends({ [`tools/call echo: ${outcome}`]: 2 })
  streams[1]!.socket.write(event(result(1)))
  await stage.ends({ [`tools/call echo: ${outcome}`]: 2, 'tools/call echo: ok': 1 })
})

test('when the client leaves its stream, its open calls are abandoned', async () => {
  await open()
  const client = await listen('a')
  await stage.exchange(call('a', 1))
  client.close()
  await stage.ends({ 'tools/call echo: abandoned': 1 })
})

test('a stream that ends while a call is being accepted leaves nothing open', async () => {
  await open('nothing')
  const client = await listen('a')
  const caller = await stage.send(call('a', 1))
  const { connection } = await stage.app.received(2)
  client.close()
  await expect.poll(() => stage.gauges(), POLL).toMatchObject({ push: 0, pending: 1 })
  connection.socket.write(ACCEPTED)
  await caller.response()
  await stage.ends({ 'tools/call echo: abandoned': 1 })
})

test.each([
  [response('404 Not Found', [], 'no such session'), 'http_error'],
  [response('500 Oops', [], ''), 'http_error'],
])('a call that is not accepted ends at once', async (bytes, outcome) => {
  await open(bytes)
  await listen('a')
  await stage.exchange(call('a', 1))
  await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
})

test('a call whose POST is reset has nothing more to wait for', async () => {
  await open('nothing')
  await listen('a')
  const client = await stage.send(call('a', 1))
  const { connection } = await stage.app.received(2)
  connection.socket.resetAndDestroy()
  await client.gone
  await stage.ends({ 'tools/call echo: reset': 1 })
})

test('a call is given up by a notification of its own session', async () => {
  await open()
  await listen('a')
  await listen('b')
  await stage.exchange(call('a', 1))
  const params = { requestId: 1, reason: 'McpError: MCP error -32001: Request timed out' }
  const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
  await stage.exchange(post(note, '', '/message?sessionId=b'))
  expect(await stage.calls()).toEqual({})
  await stage.exchange(post(note, '', '/message?sessionId=a'))
  await stage.ends({ 'tools/call echo: timeout': 1 })
  streams[0]!.socket.write(event(result(1)))
})

test('two streams may share an endpoint; it lives until the last of them ends', async () => {
  await open()
  const first = await listen('both')
  await listen('both')
  await stage.exchange(call('both', 1))
  await stage.exchange(call('both', 2))
  streams[1]!.socket.write(event(result(2)))
  await stage.ends({ 'tools/call echo: ok': 1 })
  first.close()
  await expect.poll(() => stage.gauges(), POLL).toMatchObject({ push: 1, pending: 1 })
  await stage.exchange(call('both', 3))
  streams[1]!.socket.write(event(result(3)))
  await stage.ends({ 'tools/call echo: ok': 2 })
  streams[1]!.fin()
  await stage.ends({ 'tools/call echo: ok': 2, 'tools/call echo: incomplete': 1 })
})

test('calls with equal ids on a shared endpoint end once each', async () => {
  await open()
  await listen('both')
  await listen('both')
  await stage.exchange(call('both', 1))
  await stage.exchange(call('both', 1))
  streams[0]!.socket.write(event(result(1)))
  streams[1]!.socket.write(event(result(1)))
  // Nothing on the wire shows which of the two a stream belongs to.
  await stage.ends({ 'tools/call echo: ok': 1, 'tools/call echo: incomplete': 1 })
  expect(await stage.byReason('table_evictions')).toEqual({})
})

test('a request of the server and the response to it close no call', async () => {
  await open()
  await listen('a')
  await stage.exchange(call('a', 1))
  streams[0]!.socket.write(event(request(1, 'roots/list', {})))
  await stage.exchange(post(result(1, { roots: [] }), '', '/message?sessionId=a'))
  expect(posted({ request: await stage.app.received(3) } as AppExchange).id).toBe(1)
  expect(await stage.calls()).toEqual({})
  expect(await stage.http()).toEqual({ 'mcp 202': 1 })
  streams[0]!.socket.write(event(result(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a call without a response ends when its time has passed', async () => {
  await open(ACCEPTED, { inFlightTtl: TTL })
  await listen('a')
  await stage.exchange(call('a', 1))
  await stage.ends({ 'tools/call echo: incomplete': 1 })
  streams[0]!.socket.write(event(result(1)))
})

test('a full table ends its oldest call', async () => {
  await open(ACCEPTED, { maxInFlight: 2 })
  await listen('a')
  for (const id of [1, 2, 3]) await stage.exchange(call('a', id, `t${id}`))
  await stage.ends({ 'tools/call t1: incomplete': 1 })
  expect(await stage.byReason('table_evictions')).toEqual({ in_flight_calls: 1 })
  for (const id of [3, 1, 2]) streams[0]!.socket.write(event(result(id)))
  await stage.ends({
    'tools/call t1: incomplete': 1,
    'tools/call t2: ok': 1,
    'tools/call t3: ok': 1,
  })
})

test('sessions are counted from their handshake to the end of their stream', async () => {
  await open()
  const client = await listen('a')
  await stage.exchange(
    post(request(0, 'initialize', { protocolVersion: '2024-11-05' }), '', '/message?sessionId=a'),
  )
  streams[0]!.socket.write(event(result(0, {})))
  await stage.ends({ 'initialize: ok': 1 })
  expect(await stage.sum('squall_sessions')).toBe(1)
  client.close()
  await expect.poll(() => stage.sum('squall_sessions'), POLL).toBe(0)
})

test('a post that the upstream redirects keeps its session, and is one call', async () => {
  streams = []
  stage = await Stage.open((exchange) => {
    const { method, target } = exchange.request
    if (method === 'GET') {
      streams.push(exchange)
      const endpoint = chunk('event: endpoint\ndata: /message?sessionId=a\n\n')
      return void exchange.send([streamHead(), endpoint])
    }
    const to = ['Location', '/message/?sessionId=a']
    const moved = response('307 Temporary Redirect', to, '')
    return void exchange.send([target.startsWith('/message?') ? moved : ACCEPTED])
  })
  await listen('a')
  await stage.exchange(call('a', 1))
  await stage.exchange(call('a', 1).replace('/message?', '/message/?'))
  expect(await stage.calls()).toEqual({})
  streams[0]!.socket.write(event(result(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a response that is too large to be read ends its call well, and no other', async () => {
  const maxBody = 1_000
  await open(ACCEPTED, { maxBody })
  await listen('a')
  for (const id of [1, 'two', 3, 4]) await stage.exchange(call('a', id))
  const text = 'x'.repeat(maxBody)
  const nested = [{ id: 4 }]
  const { socket } = streams[0]!
  socket.write(event({ jsonrpc: '2.0', id: 1, result: { text, nested } }))
  socket.write(event({ result: { text, nested }, jsonrpc: '2.0', id: 'two' }))
  socket.write(event({ jsonrpc: '2.0', id: 4, method: 'ping', params: { text, error: { id: 4 } } }))
  socket.write(event(result(3)))
  await stage.ends({ 'tools/call echo: ok': 3 })
  socket.end(LAST_CHUNK)
  await stage.ends({ 'tools/call echo: ok': 3, 'tools/call echo: incomplete': 1 })
})
