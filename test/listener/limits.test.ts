import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  chunk,
  exchange,
  OPEN_STREAM,
  type RawApp,
  RawClient,
  response,
  rpcPost,
  type Script,
  startUpstream,
  STREAM_HEAD,
  toolCall,
  valueOf,
} from '../support/wire.ts'
import { type Squall, startSquall } from '../support/commands.ts'

const opened = closers()
const OK = response(
  '200 OK',
  ['Content-Type', 'application/json'],
  '{"jsonrpc":"2.0","id":1,"result":{}}',
)
const ok: Script = (each) => void each.write(OK)
const silent: Script = () => undefined
const GET = 'GET /x HTTP/1.1\r\nHost: pod\r\n\r\n'

async function stand(script: Script, ...flags: string[]): Promise<{ app: RawApp; squall: Squall }> {
  const app = opened(await startUpstream({ script }))
  return { app, squall: opened(await startSquall('--upstream', app.url, ...flags)) }
}

async function client({ port }: Squall): Promise<RawClient> {
  return opened(await RawClient.connect(port))
}

describe('a head', () => {
  test('that is longer than --max-header-size is refused as JSON', async () => {
    const { app, squall } = await stand(ok, '--max-header-size', '2KiB')
    const fits = await exchange(
      squall.port,
      `GET / HTTP/1.1\r\nHost: pod\r\nX: ${'x'.repeat(1500)}\r\n\r\n`,
    )
    expect(fits.response?.status).toBe(200)
    const { response: given } = await exchange(
      squall.port,
      `GET / HTTP/1.1\r\nHost: pod\r\nX: ${'x'.repeat(3000)}\r\n\r\n`,
    )
    expect(given?.status).toBe(431)
    expect(valueOf(given!.headers, 'x-squall-error')).toBe('bad_request')
    expect(valueOf(given!.headers, 'connection')).toBe('close')
    expect(JSON.parse(given!.body.toString())).toEqual({
      error: {
        origin: 'squall',
        reason: 'bad_request',
        message: 'squall: the request headers are too large',
      },
    })
    expect(app.requests).toHaveLength(1)
    expect(await squall.metric('squall_rejected_total', { reason: 'bad_request' })).toBe(1)
  })

  test('that does not arrive in time is answered with 408, while others are served', async () => {
    const { squall } = await stand(ok, '--header-timeout', '3s')
    const [slow, mute] = [await client(squall), await client(squall)]
    await slow.send('GET / HTTP/1.1\r\nHost: p', 'GET')
    let served = 0
    while (slow.closeState === undefined || mute.closeState === undefined) {
      expect((await exchange(squall.port, GET)).response?.status).toBe(200)
      served++
      await sleep(20)
    }
    expect(served).toBeGreaterThan(1)
    expect(slow.responses.map(({ status }) => status)).toEqual([408])
    expect(valueOf(slow.responses[0]!.headers, 'x-squall-error')).toBe('slow_client')
    expect(await squall.metric('squall_rejected_total', { reason: 'slow_client' })).toBeGreaterThan(
      0,
    )
  })
})

test('a head that trickles has no more time than one that stands still', async () => {
  const { squall } = await stand(ok, '--header-timeout', '500ms')
  const slow = await client(squall)
  await slow.send('GET / HTTP/1.1\r\nHost: pod\r\nX: ', 'GET')
  const drops = setInterval(() => void slow.send('x'), 30)
  await slow.gone.finally(() => clearInterval(drops))
  expect(slow.responses.map(({ status }) => status)).toEqual([408])
})

describe('client connections', () => {
  test('above --max-connections are rejected with the reason, and earlier ones are served', async () => {
    const { squall } = await stand(ok, '--max-connections', '2')
    const [first, second, third] = [
      await client(squall),
      await client(squall),
      await client(squall),
    ]
    await squall.reaches('squall_connections', { kind: 'client' }, 3)
    await first.send(toolCall(1), 'POST')
    expect((await first.response())?.status).toBe(200)
    await third.send(toolCall(1), 'POST')
    const refused = await third.response()
    expect(refused?.status).toBe(503)
    expect(valueOf(refused!.headers, 'x-squall-error')).toBe('overload')
    expect(valueOf(refused!.headers, 'connection')).toBe('close')
    await third.gone
    third.close()
    expect(await squall.metric('squall_rejected_total', { reason: 'overload' })).toBe(1)
    second.close()
    await squall.reaches('squall_connections', { kind: 'client' }, 1)
    const { response: later } = await exchange(squall.port, toolCall(1), 'POST')
    expect(later?.status).toBe(200)
  })

  test('above the bound cannot upgrade', async () => {
    const { app, squall } = await stand(ok, '--max-connections', '1')
    await client(squall)
    await squall.reaches('squall_connections', { kind: 'client' }, 1)
    const { response: given } = await exchange(
      squall.port,
      'GET / HTTP/1.1\r\nHost: pod\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    expect(given?.status).toBe(503)
    expect(app.connections).toHaveLength(0)
  })

  test('that arrived above the bound are served once there is room', async () => {
    const { squall } = await stand(ok, '--max-connections', '1')
    const first = await client(squall)
    const second = await client(squall)
    await squall.reaches('squall_connections', { kind: 'client' }, 2)
    first.close()
    await squall.reaches('squall_connections', { kind: 'client' }, 1)
    await second.send(toolCall(1), 'POST')
    expect((await second.response())?.status).toBe(200)
  })

  test('far above it are closed at once', async () => {
    const { squall } = await stand(ok, '--max-connections', '1')
    const many = await Promise.all(Array.from({ length: 300 }, () => client(squall)))
    await eventually(() => {
      const closed = many.filter(({ closeState }) => closeState !== undefined).length
      return closed === 300 - 257 ? undefined : `${closed} are closed`
    })
  })
})

describe('connections to the upstream', () => {
  test('above --max-upstream-connections are refused in the form of the call', async () => {
    const { app, squall } = await stand(silent, '--max-upstream-connections', '1')
    const holder = await client(squall)
    await holder.send(toolCall(1), 'POST')
    await app.received(1)
    const { response: given } = await exchange(squall.port, toolCall('two'), 'POST')
    expect(given?.status).toBe(503)
    expect(valueOf(given!.headers, 'x-squall-error')).toBe('overload')
    expect(JSON.parse(given!.body.toString())).toEqual({
      jsonrpc: '2.0',
      id: 'two',
      error: {
        code: -32603,
        message: 'squall: all upstream connections are in use',
        data: { origin: 'squall', reason: 'overload' },
      },
    })
    app.connections[0]!.socket.write(OK)
    expect((await holder.response())?.status).toBe(200)
    await holder.send(toolCall(3), 'POST')
    await app.received(2)
    expect(app.connections).toHaveLength(1)
    const refused = { outcome: 'http_error', origin: 'squall' }
    expect(await squall.metric('squall_calls_total', refused)).toBe(1)
    expect(await squall.metric('squall_rejected_total', { reason: 'overload' })).toBe(1)
  })
})

describe('tunnels', () => {
  const UPGRADE = 'GET / HTTP/1.1\r\nHost: pod\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  const upgraded: Script = async (each) => {
    await each.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n')
  }

  test('count towards --max-upstream-connections, and idle connections make room for them', async () => {
    const script: Script = (each) =>
      each.request.method === 'GET' ? upgraded(each) : each.write(OK).then(() => undefined)
    const { app, squall } = await stand(script, '--max-upstream-connections', '1')
    const { response: called } = await exchange(squall.port, toolCall(1), 'POST')
    expect(called?.status).toBe(200)
    const tunnel = await client(squall)
    await tunnel.send(UPGRADE, 'GET')
    expect((await tunnel.head())?.status).toBe(101)
    await app.connections[0]!.gone
    for (const [bytes, method] of [
      [UPGRADE, 'GET'],
      [toolCall(2), 'POST'],
    ] as const) {
      const { response: given } = await exchange(squall.port, bytes, method)
      expect(given?.status).toBe(503)
      expect(valueOf(given!.headers, 'x-squall-error')).toBe('overload')
    }
    expect(app.connections).toHaveLength(2)
  })
})

describe('what is remembered', () => {
  test('of calls is bounded by --max-in-flight, and they are answered all the same', async () => {
    const { app, squall } = await stand(silent, '--max-in-flight', '2')
    const session = 'Mcp-Session-Id: s\r\n'
    const clients: RawClient[] = []
    for (let id = 1; id <= 4; id++) {
      const each = await client(squall)
      await each.send(toolCall(id, 'echo', session), 'POST')
      await app.received(id)
      clients.push(each)
    }
    expect(await squall.metric('squall_in_flight_requests')).toBe(4)
    expect(await squall.metric('squall_table_evictions_total', { table: 'in_flight_calls' })).toBe(
      2,
    )
    for (const { connection, body } of app.requests) {
      const { id } = JSON.parse(body.toString()) as { id: number }
      const text = JSON.stringify({ jsonrpc: '2.0', id, result: {} })
      connection.socket.write(response('200 OK', ['Content-Type', 'application/json'], text))
    }
    for (const each of clients) expect((await each.response())?.status).toBe(200)
    expect(await squall.metric('squall_calls_total', { outcome: 'ok' })).toBe(4)
    expect(await squall.metric('squall_in_flight_requests')).toBe(0)
  })

  test('of sessions is bounded by --max-sessions, and the newest stay', async () => {
    let sessions = 0
    const { squall } = await stand(
      (each) =>
        void each.write(
          response(
            '200 OK',
            ['Content-Type', 'application/json', 'Mcp-Session-Id', `s${++sessions}`],
            '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}',
          ),
        ),
      '--max-sessions',
      '3',
    )
    const initialize = rpcPost(
      '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}',
    )
    for (let i = 0; i < 5; i++) await exchange(squall.port, initialize, 'POST')
    expect(await squall.metric('squall_sessions')).toBe(3)
    expect(await squall.metric('squall_table_evictions_total', { table: 'sessions' })).toBe(2)
  })

  test('of HTTP+SSE endpoints is bounded by --max-sessions', async () => {
    let streams = 0
    const { squall } = await stand(
      (each) =>
        void each.send([
          STREAM_HEAD,
          chunk(`event: endpoint\ndata: /message?sessionId=${++streams}\n\n`),
        ]),
      '--max-sessions',
      '2',
    )
    for (let i = 1; i <= 3; i++) {
      const each = await client(squall)
      await each.send(OPEN_STREAM, 'GET')
      expect(await each.sees(`sessionId=${i}`)).toBe(true)
    }
    await squall.reaches('squall_table_evictions_total', { table: 'endpoints' }, 1)
    expect(await squall.metric('squall_open_streams', { kind: 'push' })).toBe(3)
  })
})
