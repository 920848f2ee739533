import { expect, it } from 'vitest'
import {
  metricValue,
  mounted,
  type OpenClient,
  openClient,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'
import { ECHO, oneFault } from '../faults/one-fault.ts'

const EVERY_OTHER = oneFault('abort: { toolError: injected }', `${ECHO}\n    every: 2`)

it.each<[string, OpenClient]>([
  ['v1', openClient('v1')],
  ['v2', openClient('v2')],
  ['v2, of protocol version 2026-07-28', openClient('v2 auto')],
])('SDK %s: calls to a mounted server that redirects are sampled once', async (_, open) => {
  const server = await startUpstream('modern', (inner) => mounted(inner))
  const squall = await startSidecar({ upstream: server.origin, rules: [EVERY_OTHER] })
  try {
    const client = await open(`${squall.url}/mcp`, 'streamableHttp')
    const failed: unknown[] = []
    for (let i = 0; i < 6; i++) {
      const { isError = false } = (await client.call('echo', { message: 'hi' })) as {
        isError?: boolean
      }
      failed.push(isError)
    }
    await client.close()
    expect(failed).toEqual([false, true, false, true, false, true])
    const text = await squall.metrics()
    const calls = { method: 'tools/call' }
    expect(metricValue(text, 'squall_calls_total', calls)).toBe(6)
    expect(metricValue(text, 'squall_calls_total', { outcome: 'ok' })).toBeGreaterThan(3)
    expect(metricValue(text, 'squall_calls_total', { outcome: 'http_error' })).toBe(0)
  } finally {
    await squall.close()
    await server.close()
  }
})
