import { describe, expect, it } from 'vitest'
import { LatencyWindow } from '../../src/admin/live-snapshot.ts'
import type { ToolSample } from '../../src/telemetry/tool-sample.ts'

const BOUNDS = Float64Array.of(1, 2)
const NONE = { real: 0, injected: 0, squall: 0, injected_elsewhere: 0 }

function sample(tool: string, ...counts: number[]): ToolSample {
  const durations = { bounds: BOUNDS, counts: Float64Array.from(counts) }
  const results = { count: 0, bytes: 0 }
  return {
    tool,
    calls: NONE,
    errors: NONE,
    seconds: durations,
    upstreamSeconds: durations,
    results,
  }
}

describe('the latency of the last looks', () => {
  it('is not known at the first one', () => {
    const window = new LatencyWindow(2)
    expect(window.look([sample('a', 5, 0, 0)]).get('a')?.client).toEqual({
      p50: null,
      p95: null,
      p99: null,
    })
  })

  it('is that of the calls in between, and forgets those of long ago', () => {
    const window = new LatencyWindow(2)
    window.look([sample('a', 100, 0, 0)])
    expect(window.look([sample('a', 100, 4, 0)]).get('a')?.upstream.p50).toBe(1.5)
    expect(window.look([sample('a', 100, 4, 0)]).get('a')?.upstream.p50).toBe(1.5)
    expect(window.look([sample('a', 100, 4, 0)]).get('a')?.upstream.p50).toBeNull()
  })

  it('knows tools that came later, and all of them together', () => {
    const window = new LatencyWindow(2)
    window.look([sample('a', 0, 0, 0)])
    const latencies = window.look([sample('a', 4, 0, 0), sample('b', 0, 4, 0)])
    expect(latencies.get('b')?.client.p50).toBe(1.5)
    expect(latencies.get(null)?.client).toEqual({ p50: 1, p95: 1.9, p99: 1.98 })
  })

  it('begins anew after forget()', () => {
    const window = new LatencyWindow(2)
    window.look([sample('a', 0, 0, 0)])
    window.forget()
    expect(window.look([sample('a', 4, 0, 0)]).get(null)?.client.p50).toBeNull()
  })
})
