// part: soak
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  chunk,
  metricValue,
  OPEN_STREAM,
  type RawApp,
  RawClient,
  response,
  type Script,
  type SidecarProcess,
  startSidecar,
  startUpstream,
  STREAM_HEAD,
  toolCall,
} from '../support/wire.ts'
import { Random, seedOfRun } from '../support/random.ts'

const SECONDS = Number(process.env['SQUALL_SOAK_SECONDS'] ?? 300)
/** The first part of the run fills caches and pools; growth is measured from its end. */
const WARM_UP = 0.3
const WORKERS = 24
/** A short run is too noisy for the real bound. */
const GROWTH = SECONDS < 120 ? 1.4 : 1.05

let app: RawApp
let squall: SidecarProcess

const result = (size: number): string =>
  `{"jsonrpc":"2.0","id":1,"result":{"content":[],"pad":"${'x'.repeat(size)}"}}`

/** The behaviour of the server for a call, by the name of the tool. */
const behaviours: Readonly<Record<string, Script>> = {
  plain: (e) => void e.write(response('200 OK', ['Content-Type', 'application/json'], result(500))),
  large: (e) =>
    void e.write(response('200 OK', ['Content-Type', 'application/json'], result(300_000))),
  stream: (e) =>
    void e.send([STREAM_HEAD, chunk(': a\n\n'), chunk(`data: ${result(200)}\n\n`), '0\r\n\r\n']),
  endless: (e) => void e.send([STREAM_HEAD, chunk(': a\n\n')]),
  silent: () => undefined,
  reset: (e) => e.reset(),
  cut: async (e) => {
    await e.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')
    e.fin()
  },
  halfReset: async (e) => {
    await e.write(`${STREAM_HEAD}5\r\nda`)
    setTimeout(() => e.reset(), 5)
  },
  fault: (e) =>
    void e.write(response('503 Unavailable', ['Content-Type', 'text/html'], '<p>no</p>')),
}
const NAMES = Object.keys(behaviours)

beforeAll(async () => {
  app = await startUpstream({
    keepBytes: false,
    script: async (e) => {
      if (e.request.method === 'GET') return behaviours['endless']!(e)
      const { params } = JSON.parse(e.request.body.toString()) as { params: { name: string } }
      await behaviours[params.name]!(e)
    },
  })
  squall = await startSidecar({ upstream: app.url, process: {} })
})

afterAll(async () => {
  await squall.stop()
  await app.close()
})

/** Drops the test's own records, which would otherwise grow without end. */
function forget(): void {
  app.requests.length = 0
  const live = app.connections.filter(({ socket }) => !socket.destroyed)
  app.connections.splice(0, app.connections.length, ...live)
  for (const connection of live) connection.requests.length = 0
}

/** One client: some calls on one connection, and one of several ways to leave. */
async function visit(random: Random): Promise<number> {
  const client = await RawClient.connect(squall.port, { keepBytes: false, keepBody: false })
  let calls = 0
  for (let left = random.int(1, 6); left > 0 && client.closeState === undefined; left--) {
    const name = random.chance(0.6) ? 'plain' : random.pick(NAMES)
    const push = random.chance(0.1)
    const index = client.responses.length
    await client.send(push ? OPEN_STREAM : toolCall(1, name), push ? 'GET' : 'POST')
    calls++
    if (push || name === 'endless') {
      await Promise.race([client.head(), sleep(2000, undefined, { ref: false })])
      break
    }
    if (name === 'silent') {
      await sleep(random.int(1, 30))
      break
    }
    // Now and then the client does not wait for the end.
    if (random.chance(0.05)) break
    await Promise.race([client.response(index), sleep(5000, undefined, { ref: false })])
  }
  if (random.chance(0.5)) client.close()
  else client.reset()
  return calls
}

test(
  `after ${SECONDS} s of calls, streams, departures and resets, no socket, no gauge and no memory is left behind`,
  { timeout: (SECONDS + 90) * 1000 },
  async () => {
    const seed = seedOfRun()
    const started = performance.now()
    const elapsed = (): number => (performance.now() - started) / 1000
    const idleSockets = squall.sockets()
    const warm: number[] = []
    const late: number[] = []
    let calls = 0
    const worker = async (index: number): Promise<void> => {
      const random = new Random(seed + index)
      while (elapsed() < SECONDS) {
        const made = await visit(random)
        calls += made
      }
    }
    const course: string[] = []
    const watch = setInterval(() => {
      forget()
      if (elapsed() >= (course.length * SECONDS) / 20) course.push(mib(squall.rss()))
      const share = elapsed() / SECONDS
      if (share > WARM_UP && share < WARM_UP + 0.2) warm.push(squall.rss())
      if (share > 0.8) late.push(squall.rss())
    }, 500)
    await Promise.all(Array.from({ length: WORKERS }, (_, index) => worker(index)))
    clearInterval(watch)

    // Idle connections to the upstream are retired within seconds; then only the listeners are
    // left.
    for (let tries = 0; tries < 300 && squall.sockets() > idleSockets; tries++) await sleep(100)
    // Before the scrape, whose own connection takes a moment to go.
    const sockets = squall.sockets()
    const text = await squall.metrics()
    const growth = floor(late) / floor(warm)
    process.stdout.write(
      `soak: seed ${seed}, ${calls} calls in ${SECONDS} s; resident ${mib(floor(warm))} → ${mib(floor(late))} MiB ` +
        `(${((growth - 1) * 100).toFixed(1)} %); sockets ${idleSockets} → ${sockets}\n` +
        `soak: resident over time ${course.join(' ')}\n`,
    )
    expect(sockets, `SQUALL_TEST_SEED=${seed}`).toBeLessThanOrEqual(idleSockets)
    for (const gauge of [
      'squall_connections',
      'squall_open_streams',
      'squall_in_flight_requests',
    ]) {
      expect(metricValue(text, gauge), gauge).toBe(0)
    }
    expect(metricValue(text, 'squall_unclassified_total', { reason: 'internal_error' })).toBe(0)
    expect(metricValue(text, 'squall_rejected_total', { reason: 'internal_error' })).toBe(0)
    expect(growth).toBeLessThan(GROWTH)
    expect(await squall.stop()).toBe(0)
  },
)

/** The lowest value: what lies above it is garbage that was not collected yet. */
function floor(values: readonly number[]): number {
  return Math.min(...values)
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}
