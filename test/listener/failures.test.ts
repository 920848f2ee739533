import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import {
  type AppExchange,
  exchange,
  freePort,
  RawClient,
  response,
  rpcPost,
  startUpstream,
  toolCall,
  valueOf,
} from '../support/wire.ts'
import { eventually } from '../support/eventually.ts'
import { type Squall, startSquall } from '../support/commands.ts'

const opened = closers()
const ORIGIN = { origin: 'squall', reason: 'upstream_unreachable' }

async function inFront(port: number, ...flags: string[]): Promise<Squall> {
  return opened(await startSquall('--upstream', `http://127.0.0.1:${port}`, ...flags))
}

describe('while the upstream is down', () => {
  test.each([
    ['a number', 0],
    ['a negative number', -7],
    ['text', '1'],
    ['text of another script', 'ид'],
  ])('a call whose id is %s gets a JSON-RPC error with that id', async (_what, id) => {
    const squall = await inFront(await freePort())
    const { response: given } = await exchange(squall.port, toolCall(id), 'POST')
    expect(given?.status).toBe(502)
    expect(valueOf(given!.headers, 'x-squall-error')).toBe('upstream_unreachable')
    expect(valueOf(given!.headers, 'content-type')).toBe('application/json')
    expect(JSON.parse(given!.body.toString())).toEqual({
      jsonrpc: '2.0',
      id,
      error: {
        code: -32603,
        message: expect.stringMatching(
          /^squall: the upstream cannot be reached: .*ECONNREFUSED/,
        ) as unknown,
        data: ORIGIN,
      },
    })
  })

  test.each([
    ['several calls', [1, '1', 2]],
    ['one call', [5]],
  ])('a batch with %s gets an array', async (_what, ids) => {
    const squall = await inFront(await freePort())
    const calls = ids.map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }))
    const batch = [...calls, { jsonrpc: '2.0', method: 'notifications/progress' }]
    const { response: given } = await exchange(squall.port, rpcPost(JSON.stringify(batch)), 'POST')
    expect(given?.status).toBe(502)
    expect(JSON.parse(given!.body.toString())).toMatchObject(
      ids.map((id) => ({ jsonrpc: '2.0', id, error: { data: ORIGIN } })),
    )
  })

  test.each([
    ['a notification', rpcPost('{"jsonrpc":"2.0","method":"notifications/initialized"}'), 'POST'],
    ['a body that is not JSON', rpcPost('{'), 'POST'],
    ['a GET', 'GET /x HTTP/1.1\r\nHost: pod\r\n\r\n', 'GET'],
  ])('%s gets plain JSON', async (_what, request, method) => {
    const squall = await inFront(await freePort())
    const { response: given } = await exchange(squall.port, request, method)
    expect(given?.status).toBe(502)
    expect(JSON.parse(given!.body.toString())).toEqual({
      error: { ...ORIGIN, message: expect.stringContaining('ECONNREFUSED') as unknown },
    })
  })

  test('the counters say that the error is not of the upstream', async () => {
    const squall = await inFront(await freePort())
    await exchange(squall.port, toolCall(1), 'POST')
    await exchange(squall.port, 'GET /x HTTP/1.1\r\nHost: pod\r\n\r\n')
    const call = { method: 'tools/call', tool: 'echo', outcome: 'http_error', origin: 'squall' }
    expect(await squall.metric('squall_calls_total', call)).toBe(1)
    expect(await squall.metric('squall_calls_total')).toBe(1)
    expect(await squall.metric('squall_rejected_total', { reason: 'upstream_unreachable' })).toBe(2)
    const http = { class: 'http', code: '502', origin: 'squall' }
    expect(await squall.metric('squall_http_requests_total', http)).toBe(1)
    expect(await squall.logged('responded instead of the upstream')).toMatchObject({
      level: 'warn',
      reason: 'upstream_unreachable',
    })
  })

  test('a client keeps its connection, and its next call works when the upstream has come', async () => {
    const port = await freePort()
    const squall = await inFront(port)
    const client = opened(await RawClient.connect(squall.port))
    await client.send(toolCall(1), 'POST')
    expect((await client.response(0))?.status).toBe(502)
    opened(await startUpstream({ port }))
    await client.send(toolCall(2), 'POST')
    expect((await client.response(1))?.status).toBe(200)
    expect(await squall.metric('squall_connections', { kind: 'client' })).toBe(1)
  })
})

describe('an upstream', () => {
  test.each([
    ['that speaks no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['whose head has a bad line', 'HTTP/1.1 200 OK\r\nno colon here\r\n\r\n'],
    ['whose head is too long', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(5000)}\r\n\r\n`],
    ['with two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ])('%s is reported as such, and the next call is not touched', async (_what, bytes) => {
    let times = 0
    const app = opened(
      await startUpstream({
        script: async (each) => {
          await each.write(++times === 1 ? bytes : response('200 OK', [], 'fine'))
        },
      }),
    )
    const squall = await inFront(app.port, '--max-header-size', '4KiB')
    const client = opened(await RawClient.connect(squall.port))
    await client.send(toolCall('a'), 'POST')
    const given = await client.response(0)
    expect(given?.status).toBe(502)
    expect(valueOf(given!.headers, 'x-squall-error')).toBe('upstream_protocol')
    expect(JSON.parse(given!.body.toString())).toMatchObject({
      id: 'a',
      error: { data: { origin: 'squall', reason: 'upstream_protocol' } },
    })
    expect(await squall.metric('squall_rejected_total', { reason: 'upstream_protocol' })).toBe(1)
    await client.send(toolCall('b'), 'POST')
    expect((await client.response(1))?.body.toString()).toBe('fine')
  })

  test.each([
    ['closes', 'fin', (each: AppExchange) => each.fin()],
    ['resets', 'reset', (each: AppExchange) => each.reset()],
  ] as const)(
    'that %s before its head does so for the client: no 502',
    async (_way, closeState, leave) => {
      const app = opened(await startUpstream({ script: leave }))
      const squall = await inFront(app.port)
      const client = opened(await RawClient.connect(squall.port))
      await client.send(toolCall(1), 'POST')
      expect(await client.gone).toBe(closeState)
      expect(client.text).toBe('')
      expect(app.requests).toHaveLength(1)
      const reset = { outcome: 'reset', origin: 'real' }
      expect(await squall.metric('squall_calls_total', reset)).toBe(1)
      expect(await squall.metric('squall_rejected_total')).toBe(0)
    },
  )
})

describe('readiness', () => {
  test('follows the upstream, and says why not', async () => {
    const port = await freePort()
    const squall = await inFront(port)
    expect(await squall.readiness()).toEqual({
      status: 503,
      ready: false,
      reason: `http://127.0.0.1:${port} does not accept connections`,
      listening: true,
    })
    const app = await startUpstream({ port })
    await eventually(async () => ((await squall.readiness()).ready ? undefined : 'not ready'))
    expect((await squall.readiness()).status).toBe(200)
    await app.close()
    await eventually(async () => ((await squall.readiness()).ready ? 'still ready' : undefined))
  })

  test('needs no app with --ready-without-upstream', async () => {
    const squall = await inFront(await freePort(), '--ready-without-upstream')
    expect(await squall.readiness()).toEqual({
      status: 200,
      ready: true,
      reason: 'listening',
      listening: true,
    })
  })

  test('ends with the drain', async () => {
    const app = opened(await startUpstream({ script: () => undefined }))
    const squall = await inFront(app.port)
    const client = opened(await RawClient.connect(squall.port))
    await client.send(toolCall(1), 'POST')
    const { connection } = await app.received(1)
    const drained = squall.running.drain()
    expect(await squall.readiness()).toEqual({
      status: 503,
      ready: false,
      reason: 'draining',
      listening: false,
    })
    connection.socket.write(response('200 OK', [], 'done'))
    expect((await client.response())?.body.toString()).toBe('done')
    client.close()
    await drained
  })
})
