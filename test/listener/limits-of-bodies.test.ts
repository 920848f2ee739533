// part: slow
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import {
  chunk,
  exchange,
  type RawApp,
  RawClient,
  response,
  type Script,
  startUpstream,
  toolCall,
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

async function stand(script: Script, ...flags: string[]): Promise<{ app: RawApp; squall: Squall }> {
  const app = opened(await startUpstream({ script }))
  return { app, squall: opened(await startSquall('--upstream', app.url, ...flags)) }
}

async function client({ port }: Squall): Promise<RawClient> {
  return opened(await RawClient.connect(port))
}

/** Looks for stalled bodies more often than once in a second. */
function sweeping({ running }: Squall): NodeJS.Timeout {
  return setInterval(() => setImmediate(() => running.sidecar.sweep()), 50)
}

describe('a body', () => {
  test.each([
    ['that is read', 'application/json'],
    ['that streams through', 'application/octet-stream'],
  ])('%s and stands still is cut after --body-timeout', async (_kind, type) => {
    const { app, squall } = await stand(ok, '--body-timeout', '300ms')
    const stalled = await client(squall)
    const head = `POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: ${type}\r\nContent-Length: 100\r\n\r\n`
    await stalled.send(`${head}{"half`, 'POST')
    const sweeps = sweeping(squall)
    await stalled.gone.finally(() => clearInterval(sweeps))
    expect(stalled.responses).toEqual([])
    expect(await squall.metric('squall_rejected_total', { reason: 'slow_client' })).toBe(1)
    expect(app.requests).toEqual([])
    await Promise.all(app.connections.map(({ gone }) => gone))
  })

  test('that is slow but moves is not cut', async () => {
    const { app, squall } = await stand(ok, '--body-timeout', '1s')
    const slow = await client(squall)
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const head = 'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\n'
    await slow.send(`${head}Content-Length: ${body.length}\r\n\r\n`, 'POST')
    const began = performance.now()
    const sweeps = sweeping(squall)
    for (const letter of body) {
      await slow.send(letter)
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    expect((await slow.response())?.status).toBe(200)
    clearInterval(sweeps)
    expect(performance.now() - began).toBeGreaterThan(1500)
    expect(app.requests[0]?.body.toString()).toBe(body)
  })

  /**
   * Each byte renewed the time for the next one: a connection and a buffer could be held without
   * end.
   */
  test.each([
    ['by its length', 'Content-Length: 100\r\n\r\n{', 'x'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n', '1\r\nx\r\n'],
  ])('that is read and trickles %s is cut after --hold-timeout', async (_how, begin, drop) => {
    const { app, squall } = await stand(ok, '--body-timeout', '10s', '--hold-timeout', '600ms')
    const trickling = await client(squall)
    const head = 'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\n'
    await trickling.send(head + begin, 'POST')
    const sweeps = sweeping(squall)
    const drops = setInterval(() => void trickling.send(drop), 50)
    await trickling.gone.finally(() => {
      clearInterval(sweeps)
      clearInterval(drops)
    })
    expect(trickling.responses).toEqual([])
    expect(await squall.metric('squall_rejected_total', { reason: 'slow_client' })).toBe(1)
    expect(app.connections).toEqual([])
  })

  test.each([
    ['that is read, at a fair pace', 'application/json', 1024, 25],
    ['that streams through, slowly', 'application/octet-stream', 4, 25],
  ])('%s, is not cut after --hold-timeout', async (_kind, type, size, count) => {
    const { app, squall } = await stand(ok, '--hold-timeout', '200ms')
    const slow = await client(squall)
    const body = `"${'x'.repeat(size * count - 2)}"`
    const head = `POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: ${type}\r\n`
    await slow.send(`${head}Content-Length: ${body.length}\r\n\r\n`, 'POST')
    const sweeps = sweeping(squall)
    for (let at = 0; at < body.length; at += size) {
      await slow.send(body.slice(at, at + size))
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    expect((await slow.response())?.status).toBe(200)
    clearInterval(sweeps)
    expect(app.requests[0]?.body.toString()).toBe(body)
  })

  test('of a client that waits for its response is never stalled', async () => {
    const { app, squall } = await stand(silent, '--body-timeout', '1ms')
    const waiting = await client(squall)
    await waiting.send(toolCall(1), 'POST')
    const { connection } = await app.received(1)
    for (let sweep = 0; sweep < 3; sweep++) squall.running.sidecar.sweep()
    connection.socket.write(OK)
    expect((await waiting.response())?.status).toBe(200)
  })

  test.each([
    ['by its length', (body: string) => `Content-Length: ${body.length}\r\n\r\n${body}`],
    [
      'in chunks',
      (body: string) =>
        `Transfer-Encoding: chunked\r\n\r\n${chunk(body).toString('latin1')}0\r\n\r\n`,
    ],
  ])('above --max-body %s passes unread', async (_how, framed) => {
    const { app, squall } = await stand(ok, '--max-body', '1KiB')
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      pad: 'x'.repeat(5000),
    })
    const head = 'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\n'
    const { response: given } = await exchange(squall.port, head + framed(body), 'POST')
    expect(given?.status).toBe(200)
    expect(app.requests[0]?.body.toString()).toBe(body)
    expect(await squall.metric('squall_unclassified_total', { reason: 'too_large' })).toBe(1)
    expect(await squall.metric('squall_calls_total')).toBe(0)
  })
})

describe('a coded body', () => {
  const post = (coded: Buffer, coding: string): Buffer =>
    Buffer.concat([
      Buffer.from(
        `POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nContent-Encoding: ${coding}\r\n` +
          `Content-Length: ${coded.length}\r\n\r\n`,
      ),
      coded,
    ])

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('is read where it is %s, and passes as it is', async (coding, encode) => {
    const { app, squall } = await stand(ok)
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'coded' } }
    const coded = encode(JSON.stringify(message))
    const { response: given } = await exchange(squall.port, post(coded, coding), 'POST')
    expect(given?.status).toBe(200)
    expect(app.requests[0]?.body.equals(coded)).toBe(true)
    expect(await squall.metric('squall_calls_total', { tool: 'coded', outcome: 'ok' })).toBe(1)
  })

  test('that would grow beyond --max-body is not read, and passes as it is', async () => {
    const { app, squall } = await stand(ok, '--max-body', '1MiB')
    // Made of many parts, so that making it takes less memory than it would take to expand.
    const part = gzipSync(Buffer.alloc(4 * 1024 * 1024, 0x20), { level: 9 })
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => part))
    expect(bomb.length).toBeLessThan(1024 * 1024)
    const before = process.resourceUsage().maxRSS
    const { response: given } = await exchange(squall.port, post(bomb, 'gzip'), 'POST')
    expect(given?.status).toBe(200)
    expect(app.requests[0]?.body.equals(bomb)).toBe(true)
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(64 * 1024)
    expect(await squall.metric('squall_unclassified_total', { reason: 'encoding' })).toBe(1)
  })

  test.each([
    ['in an unknown way', 'zstd', Buffer.from('whatever')],
    ['and damaged', 'gzip', Buffer.from('no gzip at all')],
  ])('%s passes unread', async (_how, coding, coded) => {
    const { app, squall } = await stand(ok)
    const { response: given } = await exchange(squall.port, post(coded, coding), 'POST')
    expect(given?.status).toBe(200)
    expect(app.requests[0]?.body.equals(coded)).toBe(true)
    expect(await squall.metric('squall_unclassified_total', { reason: 'encoding' })).toBe(1)
  })
})
