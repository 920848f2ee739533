import { afterEach, expect, test } from 'vitest'
import { openClient, type RunningSidecar, startSidecar, startUpstream } from '../support/wire.ts'
import { parseExposition } from '../telemetry/exposition.ts'
import { POLL, type Counts } from './stage.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function before(origin: string): Promise<RunningSidecar> {
  const squall = await startSidecar({ upstream: origin })
  closers.push(() => squall.close())
  return squall
}

async function calls(squall: RunningSidecar): Promise<Counts> {
  const counts: Counts = {}
  const families = parseExposition(await squall.metrics())
  for (const { labels, value } of families.get('squall_calls_total')?.lines ?? []) {
    counts[`${labels['method']!} ${labels['tool']!}: ${labels['outcome']!}`] = value
  }
  return counts
}

async function gauge(squall: RunningSidecar, name: string, kind: string): Promise<number> {
  const lines = parseExposition(await squall.metrics()).get(name)?.lines ?? []
  return lines.find(({ labels }) => (labels['kind'] ?? '') === kind)?.value ?? 0
}

test('a client of protocol version 2026-07-28 is counted call by call', async () => {
  const server = await startUpstream('modern')
  closers.push(() => server.close())
  const squall = await before(server.origin)
  const client = await openClient('v2 auto')(`${squall.url}/mcp`, 'streamableHttp')
  await client.listTools()
  await client.call('echo', { message: 'hi' })
  await client.call('count', { steps: 3 }, { onprogress: () => undefined })
  await client.call('fail')
  await client.call('absent').catch(() => undefined)
  // One call for the client, two on the wire: the response to the first is a question.
  await client.call('ask')
  const waiting = server.waiting()
  const abort = new AbortController()
  const waits = client.call('wait', {}, { signal: abort.signal }).catch(() => undefined)
  await waiting
  const cancelled = server.cancelled()
  abort.abort()
  await cancelled
  await waits
  const subscription = await client.listen()
  expect(await gauge(squall, 'squall_open_streams', 'request')).toBe(1)
  await subscription.close()
  await client.close()
  await expect
    .poll(() => calls(squall), POLL)
    .toEqual({
      'server/discover : ok': 1,
      'tools/list : ok': 1,
      'tools/call echo: ok': 1,
      'tools/call count: ok': 1,
      'tools/call fail: tool_error': 1,
      'tools/call absent: rpc_error': 1,
      'tools/call ask: ok': 2,
      'tools/call wait: abandoned': 1,
      'subscriptions/listen : cancelled': 1,
    })
  expect(await gauge(squall, 'squall_in_flight_requests', '')).toBe(0)
})

test('a client of an older protocol version is counted across the streams that it resumes', async () => {
  const server = await startUpstream('session')
  closers.push(() => server.host.close())
  const squall = await before(server.host.origin)
  const client = await openClient('v1')(`${squall.url}/mcp`, 'streamableHttp')
  await client.listTools()
  await client.call('end the stream')
  const cut = client.call('be cut off')
  await client.received.until('notifications/message', 3)
  server.host.cutResponses()
  await cut
  const waiting = server.waiting()
  const abort = new AbortController()
  const waits = client.call('wait', {}, { signal: abort.signal }).catch(() => undefined)
  await waiting
  const cancelled = server.cancelled()
  abort.abort()
  await cancelled
  await waits
  await expect
    .poll(() => calls(squall), POLL)
    .toEqual({
      'initialize : ok': 1,
      'tools/list : ok': 1,
      'tools/call end the stream: ok': 1,
      'tools/call be cut off: ok': 1,
      'tools/call wait: cancelled': 1,
    })
  expect(await gauge(squall, 'squall_sessions', '')).toBe(1)
  await client.endSession()
  await client.close()
  await expect.poll(() => gauge(squall, 'squall_sessions', ''), POLL).toBe(0)
  await expect.poll(() => gauge(squall, 'squall_open_streams', 'push'), POLL).toBe(0)
  expect(await gauge(squall, 'squall_in_flight_requests', '')).toBe(0)
})
