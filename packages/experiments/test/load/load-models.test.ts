// part: slow
import { REAL_TIME } from '../../src/load/clock.ts'
import { afterEach, expect, test } from 'vitest'
import { arrivalCount, arrivalTime, runOpenModel } from '../../src/load/load-models.ts'
import { Histogram } from '../../src/load/results/histogram.ts'
import { Recorder } from '../../src/load/results/recorder.ts'
import { loadTable } from '../../src/report/load-table.ts'
import { load } from './load-run.ts'
import { type ScriptedServer, startUpstream, type Step } from '../../../../test/support/wire.ts'

let server: ScriptedServer | undefined

afterEach(() => server?.close())

test('all calls that are due are made, and a stall of the server shows in all that waited for it', async () => {
  const gate = released()
  const STALL_MS = 400
  server = await startUpstream('scripted', (call) => {
    if (call < 60) return 'ok'
    if (call === 60) setTimeout(() => gate.open(), STALL_MS)
    return call < 140 ? gate.passed : 'ok'
  })
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 4, rate: 200, durationMs: 1500 },
  })
  expect(result.arrivals).toMatchObject({ planned: 300, started: 300, dropped: 0 })
  expect(result.counts).toMatchObject({ calls: 300, success: 300 })
  // 80 calls came before the stall was over: whoever came first has waited for all of it.
  const latencies = Histogram.from(result.latency.histogram)
  const waitedLong = 300 - latencies.countUpTo(STALL_MS / 2)
  expect(waitedLong).toBeGreaterThanOrEqual(30)
  expect(result.latency.summary.p99).toBeGreaterThan(STALL_MS / 2)
  expect(result.latency.summary.max).toBeGreaterThanOrEqual(STALL_MS * 0.99)
})

test('a stall of the load itself counts as waiting, and is caught up with', async () => {
  server = await startUpstream('scripted', ['ok'])
  const result = await load(
    {
      url: server.url,
      work: { tools: ['work'] },
      pace: { clients: 2, rate: 100, durationMs: 1000 },
    },
    { begun: () => setTimeout(block, 200) },
  )
  expect(result.arrivals).toMatchObject({ planned: 100, started: 100 })
  // 30 calls were due while nothing could be sent; those of its first 250 ms were late by 50 ms.
  expect(result.arrivals.late).toBeGreaterThanOrEqual(24)
  const latencies = Histogram.from(result.latency.histogram)
  expect(100 - latencies.countUpTo(100)).toBeGreaterThanOrEqual(18)

  function block(): void {
    const end = performance.now() + 300
    while (performance.now() < end);
  }
})

test('what is due beyond the bound of calls under way is dropped and counted', async () => {
  const gate = released()
  server = await startUpstream('scripted', (call) => {
    if (call === 9) setTimeout(() => gate.open(), 300)
    return gate.passed
  })
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 2, rate: 200, tasks: 40, maxInFlight: 10 },
  })
  expect(result.arrivals.planned).toBe(40)
  expect(result.arrivals.dropped).toBeGreaterThan(0)
  expect(result.arrivals.started + result.arrivals.dropped).toBe(40)
  expect(result.counts.calls).toBe(result.arrivals.started)
  const dropped = result.timeline.points.reduce((sum, point) => sum + point.dropped, 0)
  expect(dropped).toBe(result.arrivals.dropped)
})

test('a run that is stopped has a result of what it did', async () => {
  const stop = new AbortController()
  server = await startUpstream('scripted', (call) => {
    if (call === 20) stop.abort()
    return call < 20 ? 'ok' : 'hang'
  })
  const result = await load(
    { url: server.url, work: { tools: ['work'] }, pace: { clients: 1, tasks: 100 } },
    { stop: stop.signal, cut: stop.signal },
  )
  expect(result.run.complete).toBe(false)
  expect(result.counts).toMatchObject({ calls: 20, tasks: 20, success: 20 })
  expect(result.arrivals.abandoned).toBe(1)
})

/** A gate at which calls wait until it opens. */
function released(): { readonly passed: Promise<Step>; open(): void } {
  let open = (): void => {}
  const passed = new Promise<Step>((resolve) => (open = () => resolve('ok')))
  return { passed, open: () => open() }
}

test('no call is measured from a time after its start, although timers fire early', async () => {
  const pace = { tasksPerSecond: 300, rampMs: 0, durationMs: 500, tasks: undefined }
  const model = { ...pace, clients: [], callsPerTask: 1, maxInFlight: 100, clock: REAL_TIME }
  const early: number[] = []
  const { signal } = new AbortController()
  await runOpenModel(
    { ...model, stop: signal },
    (_client, _task, intendedAt) => {
      const ahead = intendedAt - performance.now()
      if (ahead > 0) early.push(ahead)
      return Promise.resolve(true)
    },
    new Recorder().tasks,
  )
  expect(early).toEqual([])
})

test('a ramp grows evenly to the rate', () => {
  const plan = { tasksPerSecond: 100, rampMs: 2000, durationMs: 5000, tasks: undefined }
  expect(arrivalCount(plan)).toBe(400)
  expect(arrivalTime(0, plan)).toBe(0)
  expect(arrivalTime(25, plan)).toBeCloseTo(1000, 6)
  expect(arrivalTime(100, plan)).toBeCloseTo(2000, 6)
  expect(arrivalTime(200, plan)).toBeCloseTo(3000, 6)
  expect(arrivalCount({ ...plan, durationMs: 1000 })).toBe(25)
  expect(arrivalCount({ ...plan, tasks: 7 })).toBe(7)
})

test('a run at a rate lasts for its duration, of which the calls per second are a share', async () => {
  server = await startUpstream('scripted', ['ok'])
  const pace = { clients: 1, rate: 1 / 60, durationMs: 1_000 }
  const result = await load({ url: server.url, work: { tools: ['work'] }, pace })
  expect(result.run.durationMs).toBeGreaterThanOrEqual(999)
  expect(loadTable(result, false)).toMatch(
    /\n1 call in 1\.\d s \((?:1|0\.\d+)\/s\), 1 task, 0 retries\n/,
  )
})
