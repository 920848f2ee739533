import { describe, expect, it } from 'vitest'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { CallRecord } from '../../src/telemetry/telemetry.ts'

const CALL: CallRecord = {
  method: 'tools/call',
  name: 'search',
  outcome: 'ok',
  origin: 'real',
  seconds: 0.004,
  upstreamSeconds: 0.002,
}

/** Where in the buckets something is, by upper bound. */
function filled({ bounds, counts }: { bounds: Float64Array; counts: Float64Array }): object {
  const entries = [...counts].map((count, i) => [String(bounds[i] ?? 'more'), count] as const)
  return Object.fromEntries(entries.filter(([, count]) => count > 0))
}

describe('the calls by tool', () => {
  it('are none before there was a call', () => {
    expect(new Metrics({ version: '1' }).tools()).toEqual([])
  })

  it('show whose the errors are, and how long calls took', () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call(CALL)
    metrics.call({ ...CALL, outcome: 'tool_error', seconds: 99 })
    metrics.call({ ...CALL, outcome: 'rpc_error', origin: 'injected', upstreamSeconds: undefined })
    metrics.call({ ...CALL, outcome: 'cancelled' })
    const [search, ...others] = metrics.tools()
    expect(others).toEqual([])
    expect(search).toMatchObject({
      tool: 'search',
      calls: { real: 3, injected: 1, squall: 0, injected_elsewhere: 0 },
      errors: { real: 1, injected: 1, squall: 0, injected_elsewhere: 0 },
    })
    expect(filled(search!.seconds)).toEqual({ '0.005': 3, more: 1 })
    expect(filled(search!.upstreamSeconds)).toEqual({ '0.0025': 3 })
  })

  it('count no client that left as an error of the server', () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call({ ...CALL, outcome: 'abandoned' })
    metrics.call({ ...CALL, outcome: 'abandoned', origin: 'injected' })
    metrics.call({ ...CALL, outcome: 'timeout' })
    const [search] = metrics.tools()
    expect(search).toMatchObject({ calls: { real: 2 }, errors: { real: 1, injected: 1 } })
  })

  it('of all other methods are together under no name', () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call({ ...CALL, method: 'tools/list', name: undefined })
    metrics.call({ ...CALL, method: 'made/up', name: undefined })
    metrics.call({ ...CALL, name: '' })
    expect(metrics.tools()).toMatchObject([{ tool: '', calls: { real: 3 } }])
  })

  it('stay bounded, with the label that metrics have', () => {
    const metrics = new Metrics({ version: '1', maxTools: 2 })
    for (const name of ['a', 'b', 'c', 'd']) metrics.call({ ...CALL, name })
    const tools = metrics.tools().map(({ tool, calls }) => [tool, calls.real])
    expect(Object.fromEntries(tools)).toEqual({ a: 1, b: 1, other: 2 })
  })
})
