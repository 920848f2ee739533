// part: clients
import { describe, expect, it } from 'vitest'
import { oneFault } from '../faults/one-fault.ts'
import { closers } from '../support/closers.ts'
import { startSidecar, startUpstream } from '../support/wire.ts'
import { parseExposition } from '../telemetry/exposition.ts'
import { play } from './python-play.ts'

const opened = closers()
const LATE = oneFault('delay: { fixed: 1h, max: 1h }', 'match: { tool: wait }')

describe.each([
  ['2025-11-25', { timeout: 1, cancelled: 1 }],
  ['2026-07-28', { abandoned: 2 }],
])('calls of protocol version %s that the Python SDK gives up', (version, outcomes) => {
  it.each([
    ['a server hangs', [], 'real'],
    ['a fault holds them', [LATE], 'injected'],
  ] as const)('are counted while %s', async (_what, rules, origin) => {
    const server =
      version === '2026-07-28'
        ? await startUpstream('modern')
        : (await startUpstream('session')).host
    opened(server)
    const squall = opened(await startSidecar({ upstream: server.origin, rules }))
    const seen = await play('given-up', `${squall.url}/mcp`)
    expect(seen['late']).toMatchObject({ error: { message: expect.stringContaining('timed out') } })
    expect(seen).toMatchObject({ stopped: 'gave up', tools: { tools: expect.anything() } })
    const { lines } = parseExposition(await squall.metrics()).get('squall_calls_total')!
    const counted = lines
      .filter(({ labels, value }) => labels['tool'] === 'wait' && value > 0)
      .map(({ labels, value }) => [labels['outcome'], labels['origin'], value])
    const expected = Object.entries(outcomes).map(([outcome, count]) => [outcome, origin, count])
    expect(counted).toEqual(expected)
  })
})
