import { afterEach, expect, test } from 'vitest'
import { RawClient } from '../support/wire.ts'
import { Random, seedOfRun } from '../support/random.ts'
import { MANNERS, MixedApp } from './mix.ts'
import { get, post, request, result, Stage, type Counts } from './stage.ts'
import { rounds } from '../support/rounds.ts'

const WORKERS = 10
const SSE_WORKERS = 3
const STEPS = rounds(12, 40)
const TTL = 10_000
const PATIENCE = { timeout: 30_000, interval: 50 }

let stage: Stage
afterEach(() => stage.close())

/** The expected counts, from the requests that were made. */
class Tally {
  readonly calls: Counts = {}
  readonly http: Counts = {}
  readonly unclassified: Counts = {}
  exchanges = 0

  add(to: Counts, name: string, count = 1): void {
    to[name] = (to[name] ?? 0) + count
  }
}

/** A client that does one thing after the other, on as many connections as that takes. */
class Worker {
  readonly #name: string
  readonly #app: MixedApp
  readonly #random: Random
  readonly #tally: Tally
  #client: RawClient | undefined
  #ids = 0
  #markers = 0

  constructor(name: string, app: MixedApp, random: Random, tally: Tally) {
    this.#name = name
    this.#app = app
    this.#random = random
    this.#tally = tally
  }

  async run(): Promise<void> {
    await this.#exchange(post(request(this.#name, 'initialize', {}), 'x-how: session\r\n'))
    this.#tally.add(this.#tally.calls, 'initialize: ok')
    for (let step = 0; step < STEPS; step++) await this.#random.pick(this.#steps)()
  }

  /** The life of a client of HTTP+SSE. */
  async runWithStream(): Promise<void> {
    const { calls, http } = this.#tally
    const target = `/message?session=${this.#name}`
    const stream = await RawClient.connect(stage.squall.port)
    await stream.send(get(`/sse?session=${this.#name}`), 'GET')
    await stream.sees('endpoint')
    for (let step = 0; step <= STEPS; step++) {
      const held = step < STEPS && this.#random.chance(0.3)
      const name = held ? 'sse held' : 'sse answered'
      const how = held ? 'hold' : 'response'
      await this.#exchange(post(this.#call(name), `x-how: ${how}\r\n`, target))
      this.#tally.add(calls, `tools/call ${name}: ${held ? 'abandoned' : 'ok'}`)
    }
    // The last request got its response: so did all before it.
    await stream.sees(`"id":${this.#ids}}`)
    this.#tally.add(http, 'mcp 200')
    this.#tally.exchanges++
    stream.close()
  }

  leave(): void {
    this.#client?.close()
  }

  readonly #steps: readonly (() => Promise<unknown>)[] = [
    ...Object.entries(MANNERS).map(([how, { outcome }]) => async (): Promise<void> => {
      await this.#exchange(post(this.#call(how), this.#lines(how)))
      this.#tally.add(this.#tally.calls, `tools/call ${how}: ${outcome}`)
    }),
    async () => {
      const size = this.#random.int(2, 5)
      const batch = Array.from({ length: size }, () => this.#call('batch'))
      await this.#exchange(post(batch, this.#lines('batch')))
      this.#tally.add(this.#tally.calls, 'tools/call batch: ok', size)
    },
    () => this.#leaves('hold', ''),
    () => this.#leaves('begin a stream', 'progress'),
    async () => {
      const id = await this.#leaves('begin a primed stream', 'progress', 'ok')
      await this.#exchange(get('/mcp', `${this.#lines('resume')}x-id: ${id}\r\n`), 'GET')
      this.#tally.add(this.#tally.http, 'mcp 200')
    },
    async () => {
      const marker = this.#marker()
      const begun = this.#app.begun(marker)
      const message = this.#call('given up')
      const client = await RawClient.connect(stage.squall.port)
      await client.send(post(message, `${this.#lines('hold')}x-mark: ${marker}\r\n`), 'POST')
      await begun
      const params = { requestId: message.id, reason: 'Request timed out' }
      const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
      await this.#exchange(post(note, this.#lines('take')))
      client.close()
      this.#tally.exchanges++
      this.#tally.add(this.#tally.calls, 'tools/call given up: timeout')
      this.#tally.add(this.#tally.http, 'mcp 202')
    },
    async () => {
      await this.#exchange(post(result(this.#ids, {}), this.#lines('take')))
      this.#tally.add(this.#tally.http, 'mcp 202')
    },
    async () => {
      await this.#exchange(get('/mcp', this.#lines('no stream')), 'GET')
      this.#tally.add(this.#tally.http, 'mcp 405')
    },
    async () => {
      await this.#exchange('GET /page HTTP/1.1\r\nHost: pod\r\n\r\n', 'GET')
      this.#tally.add(this.#tally.http, 'http 200')
    },
    async () => {
      await this.#exchange(post('not JSON'))
      this.#tally.add(this.#tally.http, 'http 200')
      this.#tally.add(this.#tally.unclassified, 'not_json')
    },
    async () => {
      await this.#exchange(post('{"grant_type":"x"}', '', '/token'))
      this.#tally.add(this.#tally.http, 'http 200')
    },
  ]

  /** Makes a call on a connection of its own and leaves it once the upstream has begun. */
  async #leaves(how: string, seen: string, outcome = 'abandoned'): Promise<number> {
    const marker = this.#marker()
    const begun = this.#app.begun(marker)
    const message = this.#call(how)
    const client = await RawClient.connect(stage.squall.port)
    await client.send(post(message, `${this.#lines(how)}x-mark: ${marker}\r\n`), 'POST')
    await begun
    if (seen !== '') await client.sees(seen)
    if (this.#random.chance(0.5)) client.reset()
    else client.close()
    this.#tally.exchanges++
    this.#tally.add(this.#tally.calls, `tools/call ${how}: ${outcome}`)
    return message.id as number
  }

  /** On the connection of the exchange before, where that is still open. */
  async #exchange(bytes: string, method = 'POST'): Promise<void> {
    let client = this.#client
    if (client === undefined || client.closeState !== undefined || client.socket.destroyed) {
      client = await RawClient.connect(stage.squall.port)
      this.#client = client
    }
    const before = client.responses.length
    await client.send(bytes, method)
    const given = await client.response(before)
    this.#tally.exchanges++
    if (given?.complete === true) return
    client.close()
    this.#client = undefined
  }

  /** Ids begin anew in every session. */
  #call(name: string): ReturnType<typeof request> {
    return request(++this.#ids, 'tools/call', { name })
  }

  #lines(how: string): string {
    return `Mcp-Session-Id: ${this.#name}\r\nx-how: ${how}\r\n`
  }

  #marker(): string {
    return `${this.#name} ${this.#markers++}`
  }
}

test('in any mix of exchanges, each call is counted once and nothing stays open', async () => {
  const seed = seedOfRun()
  const random = new Random(seed)
  const app = new MixedApp()
  const tally = new Tally()
  stage = await Stage.open(app.script, { inFlightTtl: TTL, maxSessions: 5 })
  const workers = Array.from({ length: WORKERS }, (_, i) => {
    return new Worker(`w${i}`, app, new Random(random.int(0, 2 ** 31)), tally)
  })
  await Promise.all(
    workers.map((worker, i) => (i < SSE_WORKERS ? worker.runWithStream() : worker.run())),
  )
  for (const worker of workers) worker.leave()
  const why = `SQUALL_TEST_SEED=${seed}`
  await expect.poll(() => stage.gauges(), PATIENCE).toMatchObject({ pending: 0 })
  expect(await stage.calls(), why).toEqual(tally.calls)
  expect(await stage.http(), why).toEqual(tally.http)
  expect(await stage.byReason('unclassified'), why).toEqual(tally.unclassified)
  expect(await stage.byReason('rejected'), why).toEqual({})
  expect(await stage.sum('squall_overhead_seconds', '_count'), why).toBe(tally.exchanges)
  expect(await stage.sum('squall_sessions')).toBe(5)
  expect(await stage.byReason('table_evictions')).toEqual({
    sessions: WORKERS - SSE_WORKERS - 5,
  })
  const sent = Object.values(tally.calls).reduce((sum, count) => sum + count, 0)
  expect(await stage.sum('squall_calls_total'), why).toBe(sent)
  expect(await stage.sum('squall_call_duration_seconds', '_count'), why).toBe(sent)
})
