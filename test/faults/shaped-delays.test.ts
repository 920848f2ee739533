// part: slow
import { beforeEach, expect, it } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { closers } from '../support/closers.ts'
import { call, callMessage, type RuledSidecar, startSidecar } from '../support/wire.ts'
import { jsonApp } from './apps.ts'
import { oneFault } from './one-fault.ts'

// The clock of the rules is given: what a rule does at a moment is known exactly. Timers are real.

const opened = closers()
const START = Date.parse('2026-01-01T00:00:00Z')
const SECOND = 1000
/** Timers may fire a moment early. */
const EARLY = 2

let now: number
const clock = (): number => now

beforeEach(() => {
  now = START
})

async function start(rule: RuleSpec): Promise<RuledSidecar> {
  return opened(await startSidecar({ rules: [rule], clock, upstream: jsonApp }))
}

/** Makes a call, and returns the time that the client waited, in milliseconds. */
async function waited(stage: RuledSidecar, id: number): Promise<number> {
  const began = performance.now()
  expect((await call(stage, callMessage(id))).status).toBe(200)
  return performance.now() - began
}

const ascending = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)

it('paretoNormal delays calls by its mean and deviation, with a heavy tail on one side', async () => {
  const fault = 'delay: { paretoNormal: { mean: 300ms, stddev: 50ms } }'
  const stage = await start(oneFault(fault))
  const measured: number[] = []
  for (let batch = 0; batch < 10; batch++) {
    const ids = Array.from({ length: 100 }, (_, i) => batch * 100 + i)
    measured.push(...(await Promise.all(ids.map((id) => waited(stage, id)))))
  }
  const delays = ascending(stage.injected.map(({ delayMs }) => delayMs!))
  expect(delays).toHaveLength(1000)
  // Each client waited for its delay: the sorted waits are nowhere below the sorted delays.
  const early = ascending(measured).filter((ms, i) => ms < delays[i]! - EARLY)
  expect(early).toEqual([])
  // The seed of the rules fixes the delays, so that these numbers are the same in each run.
  const mean = delays.reduce((sum, ms) => sum + ms, 0) / delays.length
  expect(Math.abs(mean - 300)).toBeLessThan(15)
  const [median, above, below] = [delays[500]!, delays[990]! - 300, 300 - delays[10]!]
  expect(median).toBeLessThan(300)
  // At a normal distribution both are 116 ms.
  expect(above).toBeGreaterThan(125)
  expect(below).toBeLessThan(80)
})

it('period lets the delays of calls swing with the clock', async () => {
  const fault = 'delay: { fixed: 60ms, jitter: 40ms, period: 8s }'
  const stage = await start(oneFault(fault))
  const wanted = [60, 88, 100, 88, 60, 32, 20, 32, 60, 88, 100]
  const waits: number[] = []
  for (const second of wanted.keys()) {
    now = START + second * SECOND
    waits.push(await waited(stage, second))
  }
  expect(stage.injected.map(({ delayMs }) => Math.round(delayMs!))).toEqual(wanted)
  expect(waits.filter((ms, i) => ms < wanted[i]! - EARLY)).toEqual([])
  // The same moment of each period has the same delay, even long after.
  now = START + 8 * SECOND * 10_000 + 2 * SECOND
  await waited(stage, 99)
  expect(Math.round(stage.injected.at(-1)!.delayMs!)).toBe(100)
})

it('repeat fails calls in each window, and none between windows', async () => {
  const keys = 'match: { tool: echo }\n    for: 30s\n    repeat: 5m'
  const stage = await start(oneFault('abort: { status: 503 }', keys))
  const failed: number[] = []
  const passed: number[] = []
  for (let second = 0; second < 1200; second += 15) {
    now = START + second * SECOND
    const { status } = await call(stage, callMessage(second))
    expect([200, 503]).toContain(status)
    ;(status === 503 ? failed : passed).push(second)
  }
  expect(failed).toEqual([0, 15, 300, 315, 600, 615, 900, 915])
  expect(passed).toHaveLength(72)
  expect(stage.counts()).toMatchObject({ injected: 8, not_yet: 72 })
})

it('an episode within a window fails the tasks of the episode, and only in the window', async () => {
  const keys =
    'match: { tool: echo }\n    for: 30s\n    repeat: 1m\n    stickyBy: trace\n    episode: { tasks: 1, of: 3 }'
  const stage = await start(oneFault('abort: { status: 503 }', keys))
  const statuses = async (from: number): Promise<readonly number[]> => {
    const found: number[] = []
    for (let task = from; task < from + 6; task++) {
      const traceparent = `00-${String(task + 1).padStart(32, '0')}-00f067aa0ba902b7-01`
      const place = { ...stage, headers: { traceparent } }
      found.push((await call(place, callMessage(task))).status)
    }
    return found
  }
  const episodes = [503, 200, 200, 503, 200, 200]
  expect(await statuses(0)).toEqual(episodes)
  now = START + 45 * SECOND
  expect(await statuses(6)).toEqual(Array.from({ length: 6 }, () => 200))
  now = START + 60 * SECOND
  const again = await statuses(12)
  expect(again.filter((status) => status === 503)).toHaveLength(2)
})
