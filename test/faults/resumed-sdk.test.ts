import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { metricValue, openClient, startSidecar, startUpstream } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()

test.each([
  ['v1', openClient('v1')],
  ['v2', openClient('v2')],
])('an SDK %s client that resumes a stream meets the faults of its call there', async (_, open) => {
  const server = await startUpstream('session')
  opened(server.host)
  const late = oneFault('delay: { fixed: 150ms, at: response }', 'match: { tool: end the stream }')
  const squall = opened(await startSidecar({ upstream: server.host.origin, rules: [late] }))
  const client = opened(await open(`${squall.url}/mcp`, 'streamableHttp'))
  const began = performance.now()
  const response = await client.call('end the stream')
  expect(response).toMatchObject({ content: [{ text: 'end the stream: done' }] })
  expect(performance.now() - began).toBeGreaterThan(145)
  expect(server.resumptions).toBe(1)
  expect(squall.faults!.counts()).toMatchObject({ matched: 1, injected: 1 })
  await eventually(async () => {
    const text = await squall.metrics()
    const labels = { tool: 'end the stream', outcome: 'ok', origin: 'real' }
    const count = metricValue(text, 'squall_calls_total', labels)
    return count === 1 ? undefined : `${count} calls ended well`
  })
  expect(squall.faults!.active).toBe(0)
  expect(squall.faults!.broken).toEqual([])
})
