// part: slow
import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { binomialBounds } from '../../src/indicators/indicators.ts'
import { load } from './load-run.ts'
import { scriptedListener } from '../../../../test/support/wire.ts'
import { type RuledSquall, startSquall } from '../../../../test/support/commands.ts'

let ruled: RuledSquall
let url: URL

beforeEach(async () => {
  const rules = await readFile(
    new URL('../../../../examples/fan-out.yaml', import.meta.url),
    'utf8',
  )
  ruled = await startSquall({ rules, upstream: scriptedListener(() => 'ok') })
  url = new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`)
})

afterEach(() => ruled.close())

// Enough for the bounds to mean something; test/system runs 5,000.
const TASKS = 100
const work = { tools: ['work', 'rest'], fanOut: 8 }
const pace = { clients: 4, tasks: TASKS }

test('two percent of the calls are one task in seven, and all of them are known as injected', async () => {
  const result = await load({ url, work, pace })
  const { low, high } = binomialBounds(1 - 0.98 ** 8, TASKS, 4)
  expect(result.indicators.blastRadius).toBeGreaterThan(low)
  expect(result.indicators.blastRadius).toBeLessThan(high)
  const injected = result.errors.reduce((sum, { count }) => sum + count, 0)
  expect(result.errors).toEqual([{ kind: 'tool', origin: 'injected', count: injected }])
  expect(result.counts).toMatchObject({ tasks: TASKS, calls: TASKS * 8, retries: 0 })
  expect(result.counts.safeFailures).toBe(result.counts.failedTasks)
  // The client counted the faults that the sidecar reports.
  const seen = result.faults[0]!
  expect(seen).toMatchObject({ rule: 'two-percent', fault: 'abort', seen: injected })
  expect(await ruled.squall.metric('squall_faults_injected_total')).toBe(injected)
})

test('with two retries and a call to do without, hardly a task fails, and the retries are counted apart', async () => {
  const resilience = { retries: 2, retryBudget: 0.1, degrade: 1 }
  const result = await load({ url, work, pace, resilience })
  // Three failures in a row at two percent each: 8 in a million calls.
  expect(result.counts.failedTasks).toBeLessThanOrEqual(1)
  expect(result.counts.calls).toBe(TASKS * 8)
  expect(result.counts.retries).toBeGreaterThan(0)
  expect(result.indicators.tcaf).toBe(8)
  expect(await ruled.squall.metric('squall_faults_injected_total')).toBe(result.faults[0]!.seen)
})
