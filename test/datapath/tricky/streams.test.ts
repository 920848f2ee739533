import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import {
  chunk,
  drained,
  metricBecomes,
  metricValue,
  OPEN_STREAM,
  RawClient,
  rpcPost,
  type ScriptedSidecar,
  startSidecar,
  STREAM_HEAD,
  toolCall,
} from '../../support/wire.ts'

let squall: ScriptedSidecar

afterEach(() => squall.close())

test('01 a pushed stream without a byte gets its head at once', async () => {
  squall = await startSidecar({ upstream: { script: (e) => void e.write(STREAM_HEAD) } })
  const client = await RawClient.connect(squall.port)
  await client.send(OPEN_STREAM)
  expect((await client.head())?.status).toBe(200)
  client.close()
})

test('02 events pass chunk by chunk with their comments, ids, line ends and cut characters', async () => {
  const text =
    ': c\n\nid: 1\nretry: 10\ndata: \n\ndata: a\r\ndata: b\r\n\r\ndata: c\r\rdata: \u65e5\n\n'
  const bytes = Buffer.from(text)
  const cut = bytes.indexOf(0xe6) + 1
  const pieces = [bytes.subarray(0, 7), bytes.subarray(7, cut), bytes.subarray(cut)]
  squall = await startSidecar({ upstream: { script: (e) => void e.write(STREAM_HEAD) } })
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(1), 'POST')
  const head = await client.head()
  for (const [i, piece] of pieces.entries()) {
    squall.app.connections[0]!.socket.write(chunk(piece))
    const sofar = pieces.slice(0, i + 1).reduce((sum, part) => sum + part.length, 0)
    while (head!.bodyBytes < sofar) await client.sawBytes(client.received + 1)
  }
  squall.app.connections[0]!.socket.write('0\r\n\r\n')
  const given = await client.response()
  expect(given!.body.equals(bytes)).toBe(true)
  expect(given!.chunks).toEqual(pieces.map((piece) => piece.length))
  client.close()
})

test('08 a client that closes its stream cancels at the upstream, and an upstream that resets resets the client', async () => {
  squall = await startSidecar({
    upstream: { script: (e) => void e.send([STREAM_HEAD, chunk('data: 1\n\n')]) },
  })
  const leaver = await RawClient.connect(squall.port)
  await leaver.send(toolCall(1), 'POST')
  await leaver.sees('data: 1')
  leaver.close()
  await squall.app.connections[0]!.gone
  const stayer = await RawClient.connect(squall.port)
  await stayer.send(toolCall(2), 'POST')
  await stayer.sees('data: 1')
  squall.app.connections[1]!.socket.resetAndDestroy()
  expect(await stayer.gone).toBe('reset')
  expect(await metricBecomes(squall, 1, 'squall_calls_total', { outcome: 'abandoned' })).toBe(1)
  expect(await metricBecomes(squall, 1, 'squall_calls_total', { outcome: 'reset' })).toBe(1)
})

test('09 a client that gives up one call leaves its stream and its other calls alone', async () => {
  squall = await startSidecar({
    upstream: { script: (e) => void e.send([STREAM_HEAD, chunk(': hello\n\n')]) },
  })
  const lines = 'Mcp-Session-Id: s1\r\n'
  const clients: RawClient[] = []
  for (const request of [
    OPEN_STREAM.replace('Accept', `${lines}Accept`),
    toolCall(1, 'a', lines),
    toolCall(2, 'b', lines),
  ]) {
    const client = await RawClient.connect(squall.port)
    await client.send(request, 'POST')
    await client.sees(': hello')
    clients.push(client)
  }
  clients[1]!.close()
  await squall.app.connections[1]!.gone
  for (const index of [0, 2]) {
    squall.app.connections[index]!.socket.write(chunk('data: still here\n\n'))
    expect(await clients[index]!.sees('still here')).toBe(true)
    clients[index]!.close()
  }
})

test('10 no bound on heads, bodies or idle connections cuts a stream that is silent for longer', async () => {
  squall = await startSidecar({
    headerTimeout: 2_000,
    bodyTimeout: 200,
    upstreamIdle: 200,
    clientKeepalive: 200,
    connectTimeout: 2_000,
    upstream: { script: (e) => void e.write(STREAM_HEAD) },
  })
  const client = await RawClient.connect(squall.port)
  await client.send(OPEN_STREAM)
  await client.head()
  await sleep(2500)
  squall.app.connections[0]!.socket.write(chunk(': keepalive\n\n'))
  expect(await client.sees(': keepalive')).toBe(true)
  client.close()
})

test.each([
  ['JSON', 'application/json'],
  ['an event stream', 'text/event-stream'],
])(
  '11 a huge response of %s is not held back: the upstream waits for a slow reader',
  async (_name, type) => {
    let written = 0
    const block = chunk(Buffer.alloc(65_536, 'x'))
    squall = await startSidecar({
      upstream: {
        keepBytes: false,
        script: async (e) => {
          await e.write(STREAM_HEAD.replace('text/event-stream', type))
          while (written < 128 * 1024 * 1024 && !e.socket.destroyed) {
            written += 65_536
            if (!e.socket.write(block)) await drained(e.socket)
          }
        },
      },
    })
    const client = await RawClient.connect(squall.port, { keepBody: false, keepBytes: false })
    await client.send(toolCall(1), 'POST')
    await client.head()
    client.socket.pause()
    for (let before = -1; before < written;) {
      before = written
      await sleep(150)
    }
    expect(written).toBeLessThan(40 * 1024 * 1024)
    client.close()
  },
)

test('19 a response that arrives on a resumed stream still belongs to its call', async () => {
  const result = '{"jsonrpc":"2.0","id":5,"result":{"content":[]}}'
  squall = await startSidecar({
    upstream: {
      script: async (e) => {
        if (e.request.method === 'POST') {
          await e.send([STREAM_HEAD, chunk('id: e1\nretry: 10\ndata: \n\n'), '0\r\n\r\n'])
        } else {
          await e.send([STREAM_HEAD, chunk(`id: e2\ndata: ${result}\n\n`), '0\r\n\r\n'])
        }
      },
    },
  })
  const lines = 'Mcp-Session-Id: s1\r\n'
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(5, 'slow', lines), 'POST')
  expect((await client.response(0))?.body.toString()).toBe('id: e1\nretry: 10\ndata: \n\n')
  await client.send(OPEN_STREAM.replace('Accept', `${lines}Last-Event-ID: e1\r\nAccept`))
  expect((await client.response(1))?.body.toString()).toContain(result)
  expect(
    await metricBecomes(squall, 1, 'squall_calls_total', { tool: 'slow', outcome: 'ok' }),
  ).toBe(1)
  expect(metricValue(await squall.metrics(), 'squall_calls_total')).toBe(1)
  client.close()
})

test('26 a subscription that is open counts as a stream and not as a slow call', async () => {
  squall = await startSidecar({
    upstream: { script: (e) => void e.send([STREAM_HEAD, chunk(': hello\n\n')]) },
  })
  const client = await RawClient.connect(squall.port)
  const listen = { jsonrpc: '2.0', id: 'listen:0', method: 'subscriptions/listen', params: {} }
  await client.send(
    rpcPost(
      JSON.stringify(listen),
      'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n',
    ),
    'POST',
  )
  await client.sees(': hello')
  expect(await metricBecomes(squall, 1, 'squall_open_streams')).toBe(1)
  client.close()
  expect(await metricBecomes(squall, 0, 'squall_open_streams')).toBe(0)
  expect(metricValue(await squall.metrics(), 'squall_call_duration_seconds_count')).toBe(0)
})
