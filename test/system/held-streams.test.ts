// part: soak
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  chunk,
  exchange,
  metricValue,
  OPEN_STREAM,
  type RawApp,
  RawClient,
  response,
  type SidecarProcess,
  startSidecar,
  startUpstream,
  STREAM_HEAD,
  toolCall,
} from '../support/wire.ts'

const STREAMS = 2000
const SECONDS = Number(process.env['SQUALL_HELD_SECONDS'] ?? 60)
const EVERY = 5
/** Two sockets, their buffers and one exchange. */
const BYTES_PER_STREAM = 64 * 1024

let app: RawApp
let squall: SidecarProcess

beforeAll(async () => {
  app = await startUpstream({
    keepBytes: false,
    script: async (e) => {
      if (e.request.method === 'GET') await e.write(STREAM_HEAD)
      else
        await e.write(
          response(
            '200 OK',
            ['Content-Type', 'application/json'],
            '{"jsonrpc":"2.0","id":1,"result":{}}',
          ),
        )
    },
  })
  squall = await startSidecar({ upstream: app.url, process: {} })
})

afterAll(async () => {
  await squall.stop()
  await app.close()
})

async function settle(met: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500 && !(await met()); tries++) await sleep(20)
}

test(
  `${STREAMS} held streams all get their events, calls beside them are answered, and nothing is left`,
  { timeout: (SECONDS + 120) * 1000 },
  async () => {
    for (let i = 0; i < 300; i++) await exchange(squall.port, toolCall(1), 'POST')
    const socketsBefore = squall.sockets()
    const before = squall.rss()
    const clients: RawClient[] = []
    while (clients.length < STREAMS) {
      const batch = await Promise.all(
        Array.from({ length: 50 }, () =>
          RawClient.connect(squall.port, { keepBytes: false, keepBody: false }),
        ),
      )
      await Promise.all(batch.map((client) => client.send(OPEN_STREAM)))
      await Promise.all(batch.map((client) => client.head()))
      clients.push(...batch)
    }
    const opened = squall.rss()
    expect(metricValue(await squall.metrics(), 'squall_open_streams', { kind: 'push' })).toBe(
      STREAMS,
    )

    const feeds = app.requests
      .filter((request) => request.method === 'GET')
      .map((request) => request.connection.socket)
    expect(feeds).toHaveLength(STREAMS)
    const event = chunk(`: keepalive ${'.'.repeat(100)}\n\n`)
    let expected = 0
    let slowest = 0
    for (let second = 0; second < SECONDS; second += EVERY) {
      const start = performance.now()
      for (const feed of feeds) feed.write(event)
      expected += 114
      const call = await exchange(squall.port, toolCall(second), 'POST')
      expect(call.response?.status).toBe(200)
      await settle(() => clients.every((client) => client.current!.bodyBytes === expected))
      slowest = Math.max(slowest, performance.now() - start)
      expect(clients.filter((client) => client.current!.bodyBytes !== expected)).toHaveLength(0)
      await sleep(EVERY * 1000)
    }
    const held = squall.rss()
    for (const client of clients) client.close()
    await settle(() => squall.sockets() <= socketsBefore)
    const text = await squall.metrics()
    process.stdout.write(
      `held streams: ${STREAMS}; resident ${mib(before)} → ${mib(opened)} → ${mib(held)} MiB after ${SECONDS} s; ` +
        `${((held - before) / STREAMS / 1024).toFixed(1)} KiB per stream; slowest round ${slowest.toFixed(0)} ms\n`,
    )
    expect((held - before) / STREAMS).toBeLessThan(BYTES_PER_STREAM)
    expect(metricValue(text, 'squall_open_streams')).toBe(0)
    expect(squall.sockets()).toBeLessThanOrEqual(socketsBefore)
    expect(await squall.stop()).toBe(0)
  },
)

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}
