// part: slow
/*
 * A load of five seconds went on for a minute, as one call of many had a made-up argument that kept
 * the server busy for so long.
 */
import { setTimeout } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { mergeResults } from '../../src/load/results/merge-results.ts'
import { parseSlo } from '../../src/load/results/slo.ts'
import { loadTable } from '../../src/report/load-table.ts'
import { progressLine } from '../../src/load/load-progress.ts'
import type { RunningLoad } from '../../src/load/run-load.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { load } from './load-run.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import {
  type CallScript,
  scriptedListener,
  type ScriptedServer,
  startUpstream,
} from '../../../../test/support/wire.ts'

let server: ScriptedServer

afterEach(() => server.close())

const work = { tools: ['work'] }
/** The calls until a server hangs. */
const CALLS = 200

/** Returns a duration of which these calls take a small part, however busy the machine is. */
async function longRun(): Promise<number> {
  const quick = await startUpstream('scripted', () => 'ok')
  const { run } = await load({ url: quick.url, work, pace: { clients: 4, tasks: CALLS } })
  await quick.close()
  return Math.max(3_000, Math.round(6 * run.durationMs))
}

test.each([
  ['closed', {}],
  ['open', { rate: 50 }],
])('calls that outlast the graceful stop are cut, %s model', async (_, pace) => {
  server = await startUpstream('scripted', (call) => (call === 0 ? 'hang' : 'ok'))
  const began = performance.now()
  const result = await load({
    url: server.url,
    work,
    pace: { clients: 2, durationMs: 300, gracefulStopMs: 2_000, ...pace },
    checks: { slo: ['success>99.99%', 'success>10%', 'max<1s', 'p50<1s'].map(parseSlo) },
  })
  expect(performance.now() - began).toBeLessThan(20_000)
  // It ran for the requested time, and reports what it does not know.
  expect(result.run.complete).toBe(true)
  expect(result.arrivals.abandoned).toBe(1)
  expect(result.arrivals.started).toBe(result.counts.calls + 1)
  expect(result.tools).toMatchObject([{ tool: 'work', abandoned: 1 }])
  expect(result.errors).toEqual([])
  expect(result.counts).toMatchObject({ failedTasks: 0, success: result.counts.calls })
  // Gates do not pass on what the load does not know.
  const passed = [false, true, false, true]
  expect(result.slo.map(({ ok }) => ok)).toEqual(passed)
  expect(mergeResults([result]).slo.map(({ ok }) => ok)).toEqual(passed)
  const total = result.counts.calls + 1
  expect(result.slo[0]!.margin?.counted).toMatchObject({ total, beyond: 1 })
})

test('calls that end within the graceful stop count like all others', async () => {
  let release = (): void => {}
  const released = new Promise<'tool error'>((resolve) => (release = () => resolve('tool error')))
  server = await startUpstream('scripted', (call) => (call === 0 ? released : 'ok'))
  let run: RunningLoad | undefined
  const loading = load(
    { url: server.url, work, pace: { clients: 2, durationMs: 200, gracefulStopMs: 60_000 } },
    { begun: (running) => (run = running) },
  )
  await eventually(() => (run?.waitsMs() === undefined ? 'tasks begin' : undefined))
  await eventually(() => (run!.recorder.inFlight.total > 1 ? 'others are under way' : undefined))
  const goal = { calls: undefined, durationMs: 200, waitsMs: run!.waitsMs }
  expect(progressLine(run!.recorder, goal)).toMatch(/ waiting for work 1, aborted in \d\ds /)
  release()
  const { arrivals, errors } = await loading
  expect(arrivals.abandoned).toBe(0)
  expect(errors).toMatchObject([{ kind: 'tool', count: 1 }])
})

test('a stop lets what is under way end, and a cut does not', async () => {
  const stop = new AbortController()
  const cut = new AbortController()
  server = await startUpstream('scripted', (call) => {
    if (call === 0) stop.abort()
    return 'hang'
  })
  const loading = load(
    { url: server.url, work, pace: { clients: 1, tasks: 9, gracefulStopMs: 60_000 } },
    { stop: stop.signal, cut: cut.signal, begun: (running) => (run = running) },
  )
  let run: RunningLoad | undefined
  await eventually(() => (run?.waitsMs() === undefined ? 'tasks begin' : undefined))
  expect(run!.recorder.inFlight.total).toBe(1)
  cut.abort()
  const result = await loading
  expect(result.run.complete).toBe(false)
  expect(result.arrivals).toMatchObject({ started: 1, abandoned: 1 })
  expect(server.calls).toHaveLength(1)
})

test.each([
  ['hang', Infinity],
  ['time out', 1 / 4],
])('a gate fails a closed model whose clients all %s for most of the run', async (_, share) => {
  const durationMs = await longRun()
  const timeoutMs = Math.min(60_000, Math.round(share * durationMs))
  server = await startUpstream('scripted', (call) => (call > CALLS ? 'hang' : 'ok'))
  const result = await load({
    url: server.url,
    work,
    pace: { clients: 4, durationMs, gracefulStopMs: share < 1 ? 10_000 : 1_000 },
    resilience: { timeoutMs },
    checks: { slo: ['success>90%', 'success>1%'].map(parseSlo) },
  })
  const { counts, arrivals, slo } = result
  expect(counts.success / (counts.calls + arrivals.abandoned)).toBeGreaterThan(0.9)
  // The calls until the silence took less than half of the run.
  expect(arrivals.missed).toBeGreaterThan(counts.calls / 2)
  expect(slo.map(({ ok }) => ok)).toEqual([false, true])
  expect(mergeResults([result]).slo.map(({ ok }) => ok)).toEqual([false, true])
  expect(loadTable(result, false)).toMatch(
    /\nMissed +[\d,]+ +not sent while the server hung; gates count these calls as timeouts\n/,
  )
})

test.each([
  ['responds late', 'ok'],
  ['responds with errors', 'tool error'],
  ['is down', 'status 503'],
] as const)('a server that %s, more slowly than before, did not hang', async (_, ending) => {
  const slowly = async (): Promise<typeof ending> => {
    await setTimeout(150)
    return ending
  }
  server = await startUpstream('scripted', (call) => (call > 200 ? slowly() : 'ok'))
  const result = await load({
    url: server.url,
    work,
    pace: { clients: 4, durationMs: 4_000, gracefulStopMs: 1_000 },
    resilience: { deadlineMs: 100 },
    checks: { slo: [parseSlo('p99<10s')] },
  })
  expect(result.counts.success).toBeLessThan(result.counts.calls)
  expect(result.arrivals.missed).toBeUndefined()
  expect(result.slo.map(({ ok }) => ok)).toEqual([true])
})

test.each([
  ['all wait', () => false, 0],
  ['half of them wait', (call: number) => call % 2 === 0, 2],
])('calls that wait as the server asked have failed, not hung: %s', async (_, hangs, hung) => {
  const durationMs = await longRun()
  const script: CallScript = (call) =>
    call <= CALLS ? 'ok' : call <= CALLS + 4 && hangs(call) ? 'hang' : 'status 429'
  let calls = 0
  const listener = scriptedListener(script, () => calls++)
  const limiting = await startUpstream((request, response) => {
    response.setHeader('retry-after', '3600')
    listener(request, response)
  })
  server = { close: () => limiting.close() } as ScriptedServer
  const { arrivals, counts, slo } = await load({
    url: new URL(`http://127.0.0.1:${limiting.port}/mcp`),
    work,
    pace: { clients: 4, durationMs, gracefulStopMs: 1_000 },
    resilience: { retries: 1 },
    checks: { slo: [parseSlo('success>90%')] },
  })
  expect(arrivals.abandoned).toBe(hung)
  expect(counts.calls - counts.success).toBe(4 - hung)
  expect(arrivals.hung ?? 0).toBe(hung)
  expect((arrivals.missed ?? 0) > counts.calls / 4).toBe(hung > 0)
  expect(slo.map(({ ok }) => ok)).toEqual([hung === 0])
})

test('a shard misses no more calls than it would have made', async () => {
  const durationMs = await longRun()
  server = await startUpstream('scripted', (call) => (call > CALLS ? 'hang' : 'ok'))
  const { arrivals } = await load({
    url: server.url,
    work,
    pace: { clients: 4, durationMs, gracefulStopMs: 1_000, tasks: 1_000 },
    shard: { index: 0, count: 2 },
  })
  expect(arrivals.missed! + arrivals.started).toBe(500)
})

test('the wait for verdicts after a load is not the silence of its server', async () => {
  let hangsAt = Infinity
  const upstream = scriptedListener(() => {
    if (performance.now() < hangsAt) return 'ok'
    // One call hangs, early enough that others end after its time-out.
    hangsAt = Infinity
    return 'hang'
  })
  const flags = ['--task-window', '4s']
  const started = await startSquall({ rules: 'rules: []\n', flags, upstream })
  const { squall } = started
  server = { close: () => started.close() } as ScriptedServer
  const asked = {
    url: new URL(`http://127.0.0.1:${squall.port}/mcp`),
    sidecars: [squall.admin],
    work: { tools: ['rest'] },
    pace: { durationMs: 3_000, gracefulStopMs: 10_000 },
    resilience: { timeoutMs: 1_000 },
    checks: { slo: [parseSlo('gave-up<=100%')] },
  }
  const began = performance.now()
  const { arrivals, run } = await load(asked, {
    begun: () => void (hangsAt = performance.now() + 1_500),
  })
  // It waited for longer than two time-outs.
  expect(performance.now() - began - run.durationMs).toBeGreaterThan(2_000)
  expect(arrivals.missed).toBeUndefined()
})
