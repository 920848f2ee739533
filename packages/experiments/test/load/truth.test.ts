// part: slow
import { afterEach, expect, test } from 'vitest'
import { parseExpectation } from '../../src/load/expectation.ts'
import type { ErrorCount, LoadResult } from '../../src/load/results/result.ts'
import { load } from './load-run.ts'
import { type ScriptedServer, startUpstream, type Step } from '../../../../test/support/wire.ts'

let server: ScriptedServer

afterEach(() => server.close())

const one = { clients: 1, tasks: 10 }
const pairs = { tools: ['work'], fanOut: 2, sequential: true }
const expectations = [parseExpectation('work:/structuredContent/total>0')]

const marked = (ending: Extract<Step, string>, marker: string): Step => ({ ending, marker })

test('every count and every indicator is the one that the script makes by hand', async () => {
  server = await startUpstream('scripted', [
    ...(['ok', 'ok'] as const),
    ...(['ok', 'tool error'] as const),
    marked('rpc error', 'storm/abort'),
    'ok',
    marked('wrong schema', 'storm/rewrite'),
    'ok',
    ...(['empty', 'ok'] as const),
    ...(['status 503', 'ok'] as const),
    ...(['reset', 'ok'] as const),
    ...(['hang', 'ok'] as const),
    ...(['squall 502', 'ok'] as const),
    marked('ok', 'storm/delay'),
    'ok',
  ])
  const result = await load({
    url: server.url,
    work: pairs,
    pace: one,
    resilience: { timeoutMs: 3_000 },
    checks: { expectations },
  })

  expect(result.counts).toEqual({
    tasks: 10,
    failedTasks: 8,
    degradedTasks: 0,
    hitTasks: 3,
    silentFailures: 1,
    safeFailures: 1,
    calls: 20,
    retries: 0,
    responded: 14,
    schemaOk: 13,
    usable: 12,
    correct: 12,
    inTime: 19,
    success: 12,
  })
  expect(result.indicators).toEqual({
    tcsr: 12 / 20,
    eta: (14 / 20) * (12 / 14),
    etaResponded: 14 / 20,
    etaUsable: 12 / 14,
    availability: 14 / 20,
    correctness: 12 / 14,
    scr: 13 / 20,
    tcaf: 2,
    retriesPerTask: 0,
    deadlineAdherence: 19 / 20,
    blastRadius: 8 / 10,
    blastRadiusPredicted: 1 - 0.6 ** 2,
    degraded: 0,
    silentFailures: 1 / 10,
    safeFailures: 1 / 10,
  })
  expect(sorted(result.errors)).toEqual([
    'http 502 squall 1',
    'http 503 real 1',
    'reset unattributed 1',
    'rpc -32603 injected 1',
    'timeout unattributed 1',
    'tool real 1',
  ])
  const [tool] = result.tools
  expect(tool).toMatchObject({ tool: 'work', calls: 20, ok: 12, responded: 14, correct: 12 })
  expect(tool!.errors.map((error) => ({ ...error, samples: undefined }))).toEqual(result.errors)
  // The script breaks each call in its own way, so each kind has the message of its one call.
  expect(tool!.errors.map(({ samples = [] }) => samples.length)).toEqual([1, 1, 1, 1, 1, 1])
  expect(seenFaults(result)).toEqual([
    'storm/abort: 1 seen, 1 errors, 0 wrong',
    'storm/delay: 1 seen, 0 errors, 0 wrong',
    'storm/rewrite: 1 seen, 0 errors, 1 wrong',
  ])
  const points = result.timeline.points
  expect(points.reduce((sum, { calls }) => sum + calls, 0)).toBe(20)
  expect(points.reduce((sum, { errors }) => sum + errors.injected, 0)).toBe(1)
  expect(points.reduce((sum, { errors }) => sum + errors.real, 0)).toBe(2)
  expect(result.latency.histogram.count).toBe(20)
  expect(result.arrivals).toMatchObject({ planned: 20, started: 20, dropped: 0, abandoned: 0 })
  expect(server.calls).toHaveLength(20)
})

test('responses that are streams, cut or no JSON are distinguished', async () => {
  server = await startUpstream('scripted', ['stream ok', 'cut stream', 'no json', 'ok'])
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 1, tasks: 4 },
  })
  expect(sorted(result.errors)).toEqual(['incomplete unattributed 1', 'malformed real 1'])
  expect(result.faults).toMatchObject([{ rule: 'rule', fault: 'delay', seen: 1, errors: 0 }])
  expect(result.counts).toMatchObject({ tasks: 4, failedTasks: 2, hitTasks: 1, success: 2 })
})

test('retries fix what they can, are counted apart, and leave alone what is final', async () => {
  server = await startUpstream('scripted', [
    ...(['status 503', 'reset', 'ok'] as const),
    ...(['bad arguments', 'rpc error', 'ok'] as const),
    ...(['tool error', 'tool error', 'tool error'] as const),
  ])
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 1, tasks: 4 },
    resilience: { retries: 2 },
  })
  // Calls: 503, reset and ok; bad arguments; rpc error and ok; three tool errors.
  expect(server.calls).toHaveLength(9)
  expect(result.counts).toMatchObject({
    calls: 4,
    retries: 5,
    success: 2,
    tasks: 4,
    failedTasks: 2,
  })
  expect(result.indicators).toMatchObject({ tcaf: 1, retriesPerTask: 5 / 4 })
  expect(sorted(result.errors)).toEqual(['tool real 2'])
})

test('the retry budget bounds how many there are', async () => {
  server = await startUpstream('scripted', ['tool error'])
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 5, tasks: 100 },
    resilience: { retries: 3, retryBudget: 0.1 },
  })
  // Ten in advance, and one for each ten calls.
  expect(result.counts.retries).toBe(20)
  expect(server.calls).toHaveLength(120)
})

test('an open breaker sends nothing, and its errors are those of the client', async () => {
  server = await startUpstream('scripted', ['tool error'])
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 1, tasks: 60 },
    resilience: { breaker: 0.5 },
  })
  // It opens at the 20th call, and tries again after a second at most once.
  expect(server.calls.length).toBeLessThanOrEqual(21)
  expect(result.counts.calls).toBe(60)
  const open = result.errors.find(({ kind }) => kind === 'breaker')
  expect(open).toEqual({ kind: 'breaker', origin: 'client', count: 60 - server.calls.length })
})

test('clients pause while their breaker is open', async () => {
  server = await startUpstream('scripted', (call): Step => (call < 20 ? 'tool error' : 'ok'))
  const result = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 1, durationMs: 2_500 },
    resilience: { breaker: 0.5 },
  })
  expect(result.counts.success).toBeGreaterThan(0)
  const { count = 0 } = result.errors.find(({ kind }) => kind === 'breaker') ?? {}
  expect(count).toBeLessThanOrEqual(251)
})

test('a breaker closes with its trial call, whatever earlier calls end meanwhile', async () => {
  const stale: (() => void)[] = []
  const triedAt: number[] = []
  let last = Infinity
  server = await startUpstream('scripted', async (call): Promise<Step> => {
    const now = performance.now()
    if (call < 2) await new Promise<void>((resolve) => stale.push(resolve))
    // The breaker opens at the 20th failure, and for a second.
    else if (now - last < 700 || last === Infinity) last = now
    else {
      triedAt.push(now)
      // An earlier call fails while the trial call is in flight.
      stale.pop()?.()
      await new Promise((resolve) => setTimeout(resolve, 200))
      return 'ok'
    }
    return 'tool error'
  })
  await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 22, durationMs: 4_000 },
    resilience: { breaker: 0.5 },
  })
  // Two further trials would come after a second each.
  expect(triedAt[2]! - triedAt[0]!).toBeLessThan(1_500)
})

test('a task skips optional calls as long as it is configured to', async () => {
  server = await startUpstream('scripted', ['ok', 'tool error', 'ok', 'empty', 'tool error', 'ok'])
  const result = await load({
    url: server.url,
    work: pairs,
    pace: { clients: 1, tasks: 3 },
    resilience: { degrade: 1 },
    checks: { expectations },
  })
  expect(result.counts).toMatchObject({ tasks: 3, degradedTasks: 1, failedTasks: 2 })
})

test('calls that cannot keep the deadline are not sent, and late ones are no success', async () => {
  server = await startUpstream('scripted', async (): Promise<Step> => {
    await new Promise((resolve) => setTimeout(resolve, 150))
    return 'ok'
  })
  const asked = { url: server.url, work: pairs, pace: { clients: 1, tasks: 2 } }
  const late = await load({ ...asked, resilience: { deadlineMs: 100 } })
  expect(late.counts).toMatchObject({
    calls: 4,
    responded: 4,
    inTime: 0,
    success: 0,
    failedTasks: 2,
  })
  expect(late.indicators.deadlineAdherence).toBe(0)
  server.calls.length = 0
  const skipped = await load({ ...asked, resilience: { deadlineMs: 100, skipLate: true } })
  expect(skipped.arrivals.skipped).toBe(2)
  expect(server.calls).toHaveLength(2)
  expect(skipped.counts).toMatchObject({ calls: 2, tasks: 2, failedTasks: 2 })
})

test('calls are sent again after the server has become faster', async () => {
  server = await startUpstream('scripted', async (call): Promise<Step> => {
    if (call < 10) await new Promise((resolve) => setTimeout(resolve, 300))
    return 'ok'
  })
  const { counts, arrivals } = await load({
    url: server.url,
    work: { tools: ['work'] },
    pace: { clients: 1, durationMs: 10_000 },
    resilience: { deadlineMs: 200, skipLate: true },
  })
  expect(counts.success).toBeGreaterThan(50)
  expect(arrivals.skipped).toBeGreaterThan(50)
})

test('the same seed makes the same calls, another seed other ones', async () => {
  server = await startUpstream('scripted', ['ok'])
  const run = async (seed: number): Promise<string> => {
    server.calls.length = 0
    await load({ url: server.url, pace: { clients: 1, tasks: 30 }, seed })
    return JSON.stringify(server.calls.map(({ tool, args }) => [tool, args]))
  }
  const first = await run(7)
  expect(await run(7)).toBe(first)
  expect(await run(8)).not.toBe(first)
})

function seenFaults({ faults }: LoadResult): string[] {
  return faults
    .map(
      ({ rule, fault, seen, errors, wrong }) =>
        `${rule}/${fault}: ${seen} seen, ${errors} errors, ${wrong} wrong`,
    )
    .toSorted()
}

function sorted(errors: readonly ErrorCount[]): string[] {
  return errors
    .map(({ kind, origin, code, count }) =>
      [kind, code, origin, count].filter((part) => part !== undefined).join(' '),
    )
    .toSorted()
}
