import { expect, it } from 'vitest'
import { TrafficHistory } from '../../src/admin/traffic-history.ts'
import type { ToolSample } from '../../src/telemetry/tool-sample.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/squall.ts'

const opened = closers()
const BOUNDS = Float64Array.of(1, 2)

/** Calls of a tool so far: those that ended well, real errors, and injected ones. */
function sample(tool: string, fine: number, real = 0, injected = 0): ToolSample {
  const counts = Float64Array.of(fine + real + injected, 0, 0)
  const durations = { bounds: BOUNDS, counts }
  return {
    tool,
    calls: { real: fine + real, injected, squall: 0 },
    errors: { real, injected, squall: 0 },
    seconds: durations,
    upstreamSeconds: durations,
    results: { count: 0, bytes: 0 },
  }
}

function setup() {
  let samples: readonly ToolSample[] = []
  let now = 1_700_000_000_000
  const history = new TrafficHistory(
    () => samples,
    () => now,
  )
  return {
    history,
    look: (...next: readonly ToolSample[]): void => {
      samples = next
      history.look()
      now += 5_000
    },
  }
}

it('has rates and latencies of all calls and of each tool, from the counts between two looks', () => {
  const { history, look } = setup()
  look(sample('a', 10))
  look(sample('a', 20, 5), sample('b', 0, 0, 10))
  look(sample('a', 20, 5), sample('b', 0, 0, 10))
  expect(history.show()).toMatchObject({
    stepSeconds: 5,
    at: [1_700_000_000, 1_700_000_005, 1_700_000_010],
    series: [
      { calls: [null, 5, 0], real: [null, 1, 0], injected: [null, 2, 0], p50: [null, 0.5, null] },
      { tool: 'a', calls: [null, 3, 0], real: [null, 1, 0], injected: [null, 0, 0] },
      { tool: 'b', calls: [null, 2, 0], injected: [null, 2, 0], upstreamP95: [null, 0.95, null] },
    ],
  })
})

it('keeps fifteen minutes, and twenty tools, however long it runs', () => {
  const { history, look } = setup()
  const tools = (round: number): ToolSample[] =>
    Array.from({ length: 60 }, (_, i) => sample(`tool ${i}`, round * 5))
  for (let round = 0; round < 300; round++) look(...tools(round))
  const { at, series } = history.show()
  expect([at.length, series.length]).toEqual([180, 21])
  expect(at).toEqual(at.toSorted((a, b) => a - b))
  expect(at.at(-1)! - at[0]!).toBe(179 * 5)
  const all = series.find(({ tool }) => tool === undefined)!
  expect(all.calls.every((value) => value === 60)).toBe(true)
})

it('is there before anybody has looked at the page', async () => {
  const { squall } = opened(await startSquall({ rules: 'rules: []' }))
  const response = await fetch(`${squall.admin}/api/history`)
  expect(await response.json()).toMatchObject({
    at: [expect.any(Number)],
    series: [{ calls: [null] }],
  })
})
