// part: experiments
// Needs Prometheus. The client's indicators and the recording rules made from the sidecar's own
// series.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { predictedBlastRadius } from '../../packages/experiments/src/indicators/indicators.ts'
import { parseExpectation } from '../../packages/experiments/src/load/expectation.ts'
import type { LoadResult, ToolResult } from '../../packages/experiments/src/load/results/result.ts'
import { load } from '../../packages/experiments/test/load/load-run.ts'
import { scriptedListener } from '../support/wire.ts'
import {
  evaluatedAnew,
  type Prometheus,
  queryBecomes,
  startPrometheus,
} from '../support/cluster.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const INDICATORS = fileURLToPath(new URL('../../deploy/prometheus/indicators.yml', import.meta.url))
const FAN_OUT = 8
/** The last rule of the group in which all ratios are. */
const LAST = 'workload:squall_injected_errors:ratio_rate5m'
const RULES = `seed: 11
rules:
  - name: flaky-work
    match: { tool: work }
    percent: 20
    faults: [abort: { toolError: the database is away }]
  - name: empty-rest
    match: { tool: rest }
    percent: 30
    faults: [rewrite: { set: { /total: 0 } }]
`

let ruled: RuledSquall
let prometheus: Prometheus
let result: LoadResult
/** For which moment the rules were evaluated, in seconds since the epoch. */
let evaluated: number

beforeAll(async () => {
  let call = 0
  // One call in ten fails for real.
  const script = (): 'ok' | 'rpc error' => (call++ % 10 === 3 ? 'rpc error' : 'ok')
  ruled = await startSquall({ rules: RULES, upstream: scriptedListener(script) })
  // Every series is there before the first scrape: what a counter starts with is no increase.
  const warm = await run(150)
  prometheus = await startPrometheus(
    [{ address: ruled.squall.admin.replace('http://', ''), labels: { workload: 'tools' } }],
    [INDICATORS],
  )
  await queryBecomes(prometheus, 'count(count_over_time(squall_build_info[1m]) >= 2)', 1)
  result = await run(150)
  const calls = warm.counts.calls + result.counts.calls
  await queryBecomes(prometheus, 'sum(squall_calls_total{method="tools/call"})', calls)
  // All increases are extrapolated by the same factor, which ratios do not show, unless a counter
  // began so near to zero that Prometheus takes it to have begun within 1.1 scrapes before the
  // first. With n samples that is one that began with less than 1.1 / (n - 1) of its increase: with
  // 7, less than a fifth of it. Here each began with about as much as it grew by.
  await queryBecomes(prometheus, 'count(count_over_time(squall_build_info[5m]) >= 7)', 1)
  evaluated = await evaluatedAnew(prometheus, LAST)
}, 180_000)

afterAll(async () => {
  await prometheus?.close()
  await ruled?.close()
})

function run(tasks: number): Promise<LoadResult> {
  return load({
    url: new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`),
    work: { tools: ['work', 'rest'], fanOut: FAN_OUT },
    pace: { clients: 4, tasks },
    checks: { expectations: [parseExpectation('*:/structuredContent/total>0')] },
  })
}

async function recorded(name: string, labels = ''): Promise<number> {
  const [series, ...more] = await prometheus.instant(`${name}{${labels}}`, evaluated)
  expect(more).toEqual([])
  return series!.values[0]!
}

function tool(name: string): ToolResult {
  return result.tools.find((entry) => entry.tool === name)!
}

function share(entry: ToolResult, origin: string): number {
  const errors = entry.errors.filter((error) => error.origin === origin)
  return errors.reduce((sum, { count }) => sum + count, 0)
}

it('meets errors of both kinds, and answers that are wrong without an error', () => {
  expect(share(tool('work'), 'injected')).toBeGreaterThan(50)
  expect(share(tool('rest'), 'injected')).toBe(0)
  expect(share(tool('rest'), 'real')).toBeGreaterThan(20)
  expect(tool('rest').responded - tool('rest').correct).toBeGreaterThan(50)
})

it.each(['work', 'rest'])('says the same of %s from both sides', async (name) => {
  const entry = tool(name)
  const { calls, responded, correct } = entry
  const of = (rule: string): Promise<number> =>
    recorded(`tool:${rule}:ratio_rate5m`, `tool="${name}"`)
  expect(await of('squall_responded')).toBeCloseTo(responded / calls, 9)
  expect(await of('squall_untouched')).toBeCloseTo(correct / responded, 9)
  expect(await of('squall_effective_availability')).toBeCloseTo(correct / calls, 9)
  const injected = share(entry, 'injected')
  expect(await of('squall_injected_errors')).toBeCloseTo(injected / calls, 9)
  expect(await of('squall_real_errors')).toBeCloseTo(share(entry, 'real') / (calls - injected), 9)
})

it('says the same of all tools together, and predicts the same', async () => {
  const { eta } = result.indicators
  const recordedEta = await recorded('workload:squall_effective_availability:ratio_rate5m')
  expect(recordedEta).toBeCloseTo(eta!, 9)
  const predicted = await recorded('workload:squall_predicted_blast_radius_fanout8:ratio_rate5m')
  expect(predicted).toBeCloseTo(predictedBlastRadius(1 - eta!, FAN_OUT), 9)
})
