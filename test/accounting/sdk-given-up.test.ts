// part: slow
import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import {
  type InteropClient,
  openClient,
  type StartOptions,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'
import { familyIn } from '../telemetry/exposition.ts'
import { oneFault } from '../faults/one-fault.ts'
import { POLL } from './stage.ts'

// A hang could read as zero errors: what a client that ran out of patience left behind counted as
// cancelled.

const opened = closers()
const LATE = oneFault('delay: { fixed: 1h, max: 1h }', 'match: { tool: wait }')
const CLIENTS = { v1: openClient('v1'), v2: openClient('v2'), 'v2 auto': openClient('v2 auto') }

/** A server with a tool that never responds, a client of it through Squall, and Squall's counts. */
async function open(
  client: keyof typeof CLIENTS,
  sessions: boolean,
  options: Partial<StartOptions> = {},
) {
  const started = sessions ? await startUpstream('session') : await startUpstream('modern')
  const host = 'host' in started ? started.host : started
  opened({ close: () => host.close() })
  const squall = opened(await startSidecar({ upstream: host.origin, ...options }))
  const opens = CLIENTS[client]
  const interop = opened<InteropClient>(await opens(`${squall.url}/mcp`, 'streamableHttp'))
  const counted = async (): Promise<readonly string[]> => {
    const lines = familyIn(await squall.metrics(), 'squall_calls_total')!.lines
    return lines
      .filter(({ labels, value }) => labels['tool'] === 'wait' && value > 0)
      .map(({ labels, value }) => `${value} ${labels['outcome']!}/${labels['origin']!}`)
  }
  const seconds = async (): Promise<number> => {
    const { lines } = familyIn(await squall.metrics(), 'squall_call_duration_seconds')!
    const sums = lines.filter(
      ({ name, labels }) => name.endsWith('_sum') && labels['tool'] === 'wait',
    )
    return sums.reduce((sum, { value }) => sum + value, 0)
  }
  return { client: interop, waiting: started.waiting(), counted, seconds }
}

const ALL = [
  ['v1', true, 'timeout', 'cancelled'],
  ['v1', false, 'timeout', 'cancelled'],
  ['v2', true, 'timeout', 'cancelled'],
  ['v2', false, 'timeout', 'cancelled'],
  // The client leaves without a notification: the reason is unknown.
  ['v2 auto', false, 'abandoned', 'abandoned'],
] as const

describe.each(ALL)('an SDK %s client (sessions: %s)', (name, sessions, late, stopped) => {
  test(`that runs out of patience leaves a call that is counted as ${late}`, async () => {
    const { client, counted, seconds } = await open(name, sessions)
    await expect(client.call('wait', {}, { timeout: 300 })).rejects.toThrow()
    await expect.poll(counted, POLL).toEqual([`1 ${late}/real`])
    expect(await seconds()).toBeGreaterThan(0)
  })

  test(`that stops a call leaves one that is counted as ${stopped}`, async () => {
    const { client, counted, waiting } = await open(name, sessions)
    const stop = new AbortController()
    const call = client.call('wait', {}, { signal: stop.signal })
    await waiting
    stop.abort()
    await expect(call).rejects.toThrow()
    await expect.poll(counted, POLL).toEqual([`1 ${stopped}/real`])
  })

  test('that closes leaves calls that are counted as abandoned', async () => {
    const { client, counted, waiting } = await open(name, sessions)
    const call = client.call('wait')
    await waiting
    // Otherwise the stream could be resumed, as it has event ids.
    const leaves = client.endSession().then(() => client.close())
    await Promise.all([expect(call).rejects.toThrow(), leaves])
    await expect.poll(counted, POLL).toEqual(['1 abandoned/real'])
  })

  test('never has a call executed that it gave up while a fault held it', async () => {
    const { client, counted, waiting } = await open(name, sessions, { rules: [LATE] })
    let executed = false
    void waiting.then(() => (executed = true))
    await expect(client.call('wait', {}, { timeout: 200 })).rejects.toThrow()
    await expect.poll(counted, POLL).toEqual([`1 ${late}/injected`])
    expect(await client.listTools()).toHaveProperty('tools')
    expect(executed).toBe(false)
  })
})

test.each(['v1', 'v2'] as const)(
  'an SDK %s client that ends its session while a fault holds its call fails by the fault',
  async (name) => {
    const { client, counted, waiting } = await open(name, true, { rules: [LATE] })
    let executed = false
    void waiting.then(() => (executed = true))
    const call = client.call('wait', {}, { timeout: 60_000 }).catch(() => undefined)
    await expect.poll(counted, POLL).toEqual([])
    await client.endSession()
    await expect.poll(counted, POLL).toEqual(['1 abandoned/injected'])
    expect(executed).toBe(false)
    await client.close()
    await call
  },
)
