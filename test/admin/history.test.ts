import { expect, it } from 'vitest'
import type { History } from '../../src/admin/contract/api.ts'
import { TrafficHistory } from '../../src/admin/traffic-history.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { ToolSample } from '../../src/telemetry/tool-sample.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const BOUNDS = Float64Array.of(1, 2)

/** Calls of a tool so far: those that ended well, real errors, and injected ones. */
function sample(tool: string, fine: number, real = 0, injected = 0): ToolSample {
  const counts = Float64Array.of(fine + real + injected, 0, 0)
  const durations = { bounds: BOUNDS, counts }
  return {
    tool,
    calls: { real: fine + real, injected, squall: 0, injected_elsewhere: 0 },
    errors: { real, injected, squall: 0, injected_elsewhere: 0 },
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

const RULES = `seed: 1
rules:
  - { name: down, match: { tool: search }, first: 3, faults: [abort: { status: 503 }] }
  - { name: bad, match: { tool: fetch }, first: 1, faults: [abort: { toolError: no }] }
`

it('has the calls of each tool without those that faults ended, with sizes and calls by task', async () => {
  const { squall, ask } = opened(await startSquall({ rules: RULES, flags: ['--tasks'] }))
  for (let i = 0; i < 8; i++) await ask('search')
  // The first one fails, and the second is its retry.
  for (const task of ['a', 'a', 'b', 'b']) await ask('fetch', { 'x-task-id': task })
  const { tools = [] } = (await (await fetch(`${squall.admin}/api/history`)).json()) as History
  const latency = { p95: expect.any(Number), bytes: expect.any(Number) }
  expect(tools).toMatchObject([
    { tool: 'search', calls: 5, errors: 0, ...latency },
    { tool: 'fetch', calls: 3, errors: 0, ...latency, perTask: 1.5 },
  ])
  expect(tools[0]!.bytes).toBeGreaterThan(20)
})

it('compares the tools with ten to fifteen minutes ago, to the call and the byte', () => {
  const metrics = new Metrics({ version: '1' })
  const history = new TrafficHistory(
    () => metrics.tools(),
    () => 0,
  )
  const end = { outcome: 'ok', origin: 'real', trace: undefined } as const
  const calls = (count: number, seconds: number, responseBytes: number): void => {
    for (let i = 0; i < count; i++) {
      const sizes = { seconds, upstreamSeconds: seconds, responseBytes }
      metrics.call({ ...end, method: 'tools/call', name: 'search', ...sizes })
    }
  }
  const pass = (minutes: number): void => {
    for (let step = 0; step < minutes * 12; step++) history.look()
  }
  const search = { tool: 'search', errors: 0, p95: expect.any(Number), perTask: null }
  metrics.call({ ...end, method: 'initialize', name: undefined, seconds: 1, upstreamSeconds: 1 })
  pass(1)
  calls(100, 0.02, 1000)
  pass(6)
  expect(history.show().tools).toEqual([{ ...search, calls: 100, bytes: 1000 }])
  pass(30)
  calls(50, 0.2, 4000)
  expect(history.show().tools).toEqual([{ ...search, calls: 50, bytes: 4000 }])
  pass(9)
  expect(history.show().tools).toEqual([{ ...search, calls: 50, bytes: 4000 }])
  pass(6)
  expect(history.show().tools).toEqual([])
})
