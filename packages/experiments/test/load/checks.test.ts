import { afterEach, expect, test } from 'vitest'
import { indicatorsOf, noCounts } from '../../src/indicators/indicators.ts'
import { parseBaseline } from '../../src/load/baseline.ts'
import { parseCalls } from '../../src/load/calls-file.ts'
import { parseExpectation } from '../../src/load/expectation.ts'
import { Histogram } from '../../src/load/results/histogram.ts'
import { runLoad } from '../../src/load/run-load.ts'
import type { LoadResult, SloVerdict } from '../../src/load/results/result.ts'
import { hungCalls } from '../../src/load/results/build-result.ts'
import { Recorder } from '../../src/load/results/recorder.ts'
import { evaluateSlo, parseSlo } from '../../src/load/results/slo.ts'
import { beyondText, marginText } from '../../src/report/gate-words.ts'
import { closeAll } from './closing.ts'
import { load, loadOptions } from './load-run.ts'
import { scriptedListener, startUpstream } from '../../../../test/support/wire.ts'
import { startSquall } from '../../../../test/support/commands.ts'

const open = closeAll(afterEach)

const RESULT = {
  content: [{ type: 'text', text: 'done' }],
  structuredContent: { total: 3, name: 'ab', list: [1, 2], 'a/b': null, deep: { x: 1 } },
}

test.each([
  ['t:/structuredContent/total>0', true],
  ['t:/structuredContent/total>3', false],
  ['/structuredContent/total>=3', true],
  ['*:/structuredContent/total<=2.5', false],
  ['t:/structuredContent/total=3', true],
  ['t:/structuredContent/total="3"', false],
  ['t:/structuredContent/name=ab', true],
  ['t:/structuredContent/name!=ab', false],
  ['t:/structuredContent/nothing!=ab', false],
  ['t:/structuredContent/name=~^a.$', true],
  ['t:/structuredContent/total=~3', false],
  ['t:/structuredContent/list>1', true],
  ['t:/structuredContent/list=[1,2]', true],
  ['t:/structuredContent/deep={"x":1}', true],
  ['t:/structuredContent/name>0', false],
  ['t:/structuredContent/deep', true],
  ['t:/structuredContent/a~1b', false],
  ['t:/content/0/text', true],
  ['t:/content/1', false],
])('the condition %s holds: %s', (text, holds) => {
  expect(parseExpectation(text).holds(RESULT)).toBe(holds)
})

test.each([
  ['total>0', /missing a JSON Pointer/],
  ['t/x', /missing a JSON Pointer/],
  ['t:/a~2', /invalid JSON Pointer/],
  ['t:/a>', /missing a value after >/],
  ['t:/a>many', /needs a number after >/],
  ['t:/a=~(', /regular expression/],
])('the condition %s is refused', (text, why) => {
  expect(() => parseExpectation(text)).toThrow(why)
})

test.each([
  ['p99<2s', /./, { limit: 2000 }],
  ['p99.9<=250ms', /./, { limit: 250 }],
  [' success >= 99.5% ', /./, { limit: 0.995 }],
  ['tcaf<9', /./, { limit: 9 }],
  ['blast<5', /./, { limit: 0.05 }],
  ['p99>=0', /./, { limit: 0 }],
])('the gate %s is read', (text, _, gate) => {
  expect(parseSlo(text)).toMatchObject(gate)
})

test.each([
  ['p99', /not a valid expression/],
  ['p99<2', /unit of time/],
  ['p99<2%', /unit of time/],
  ['success>0.99', /ambiguous: 0\.99% or 99%; write it as 99% or 0\.5%/],
  ['success>1', /ambiguous/],
  ['success>101%', /from 0% to 100%/],
  ['p99<2 s', /not a valid expression/],
  ['speed>1%', /the unknown metric "speed"; use p50 to p99\.9, success/],
  ['tcaf<9%', /limit without a unit/],
  ['p99<1.2.3s', /unit of time/],
  ['constructor<1%', /unknown metric/],
])('the gate %s is refused', (text, why) => {
  expect(() => parseSlo(text)).toThrow(why)
})

test.each([
  ['{', 'is not valid JSON'],
  ['[]', 'must have the format squall.baseline/1'],
  ['{"schema":"squall.baseline/2","responses":{}}', 'must have the format'],
  ['{"schema":"squall.baseline/1","responses":{"t/a":{"/b":"1"}}}', 'must have the format'],
])('the baseline %s is refused', (text, why) => {
  expect(() => parseBaseline(text)).toThrow(`the baseline ${why}`)
})

test('gates are judged by what was measured, and what was not measured does not pass', () => {
  const histogram = new Histogram()
  for (let ms = 1; ms <= 1000; ms++) histogram.add(ms)
  const counts = {
    ...noCounts(),
    tasks: 10,
    failedTasks: 1,
    calls: 100,
    success: 98,
    responded: 99,
  }
  const judged = { counts, indicators: indicatorsOf(counts), latency: histogram.latency() }
  const verdicts = (...gates: string[]): boolean[] =>
    evaluateSlo(gates.map(parseSlo), judged).map(({ ok }) => ok)
  expect(
    verdicts(
      'p99<1s',
      'p50<400ms',
      'success>=98%',
      'success>98%',
      'blast<=10%',
      'errors<=1.5%',
      'max<=1s',
      'tcaf<=10',
    ),
  ).toEqual([true, false, true, false, true, true, true, true])
  const none = noCounts()
  const latency = new Histogram().latency()
  const nothing = { counts: none, indicators: indicatorsOf(none), latency }
  expect(evaluateSlo([parseSlo('success>1%'), parseSlo('p99<1m')], nothing)).toMatchObject([
    { measured: null, ok: false, margin: null },
    { measured: null, ok: false, margin: null },
  ])
})

test('a gate fails that calls which hung at the end would fail as timeouts', () => {
  const histogram = new Histogram()
  for (let call = 0; call < 90; call++) histogram.add(5)
  const ok = { ...noCounts(), tasks: 45, calls: 90, responded: 90, correct: 90, success: 90 }
  const judged = { counts: ok, indicators: indicatorsOf(ok), latency: histogram.latency() }
  const gates = ['success>89%', 'success>90%', 'p50<6ms', 'p95<50s', 'p95<61s', 'blast<10%']
  const verdicts = (complete: boolean): boolean[] => {
    const options = { fanOut: 2, timeoutMs: 60_000 }
    const arrivals = { abandoned: 10, hung: 10, hungTasks: 5 } as LoadResult['arrivals']
    const run = { complete, options } as unknown as LoadResult['run']
    return evaluateSlo(gates.map(parseSlo), { ...judged, run, arrivals }).map((gate) => gate.ok)
  }
  expect(verdicts(true)).toEqual([true, false, true, false, true, false])
  expect(verdicts(false)).toEqual([true, true, true, true, true, true])
})

test('only a cut call that waited for the drain time-out and longer than others has hung', () => {
  const recorder = new Recorder()
  recorder.latency.add(2_000)
  for (const ms of [1_500, 9_990, 12_000]) {
    recorder.inFlight.add('work')
    recorder.abandoned('work', ms)
  }
  expect(hungCalls(recorder, 10_000)).toBe(2)
  expect(hungCalls(recorder, 1_000)).toBe(2)
  expect(hungCalls(recorder, 0)).toBe(0)
})

/** Returns the gate of 100 calls with these latencies, of which `failed` have an error. */
function judge(gate: string, failed: number, latencies = new Histogram()): SloVerdict {
  const counts = { ...noCounts(), tasks: 100, calls: 100, responded: 100 - failed }
  const all = { ...counts, correct: counts.responded, success: counts.responded }
  const judged = { counts: all, indicators: indicatorsOf(all), latency: latencies.latency() }
  return evaluateSlo([parseSlo(gate)], judged)[0]!
}

test('a rate at its limit passes: 5 errors of 100 calls are 5%', () => {
  expect(judge('errors<=5%', 5)).toMatchObject({ measured: 0.05, ok: true })
  expect(judge('errors<=5%', 6).ok).toBe(false)
  expect(judge('errors<5%', 5).ok).toBe(false)
})

test.each([
  ['errors<=5%', 2, 0.03, 0.6, 5],
  ['errors<5%', 2, 0.03, 0.6, 4],
  ['errors<=5%', 9, -0.04, -0.8, 5],
  ['errors<=0%', 1, -0.01, null, 0],
  ['success>=95%', 9, -0.04, -0.04 / 0.95, 5],
  ['success>95%', 1, 0.04, 0.04 / 0.95, 4],
])('the margin of %s with %i failed calls', (gate, failed, distance, ofLimit, allowed) => {
  const { margin } = judge(gate, failed)
  expect(margin!.distance).toBeCloseTo(distance, 10)
  if (ofLimit === null) expect(margin!.ofLimit).toBeNull()
  else expect(margin!.ofLimit).toBeCloseTo(ofLimit, 10)
  expect(margin!.counted).toEqual({ unit: 'calls', total: 100, beyond: failed, allowed })
})

test('the allowed failures are exactly those at which the gate passes', () => {
  for (let limit = 0; limit <= 100; limit++) {
    for (const gate of [`errors<=${limit}%`, `errors<${limit}%`, `success>=${limit}%`]) {
      const { allowed } = judge(gate, 0).margin!.counted!
      if (allowed! >= 0) expect([gate, judge(gate, allowed!).ok]).toEqual([gate, true])
      if (allowed! < 100) expect([gate, judge(gate, allowed! + 1).ok]).toEqual([gate, false])
    }
  }
})

test('the margin of a latency counts the slower calls', () => {
  const histogram = new Histogram()
  for (let call = 0; call < 97; call++) histogram.add(100)
  for (let call = 0; call < 3; call++) histogram.add(900)
  const p95 = judge('p95<=200ms', 0, histogram)
  expect(p95).toMatchObject({ ok: true })
  expect(p95.margin!.distance).toBeCloseTo(100, 0)
  expect(p95.margin!.counted).toEqual({ unit: 'calls', total: 100, beyond: 3, allowed: 5 })
  const p99 = judge('p99<=200ms', 0, histogram)
  expect(p99).toMatchObject({ ok: false, margin: { counted: { beyond: 3, allowed: 1 } } })
  expect(marginText(p99)).toMatch(/^(699|70\d) ms beyond \(3(49|5\d)\.\d+ % of the limit\)$/)
  expect(beyondText(p99)).toBe('3 of 100 calls beyond the limit, 2 too many')
  expect(judge('mean<=200ms', 0, histogram).margin!.counted!.allowed).toBeNull()
  expect(marginText(judge('errors<=5%', 2))).toBe('3.0 points left (60.0 % of the limit)')
  expect(beyondText(judge('errors<=5%', 2))).toBe('2 of 100 calls failed, 3 more allowed')
})

test('a silent partial result is caught by a clean run, and counts as a silent failure', async () => {
  const rules = `rules:
  - name: partial
    match: { tool: work }
    every: 2
    faults: [truncate: { content: { chars: 1 } }]
`
  const ruled = open(await startSquall({ rules, upstream: scriptedListener(() => 'ok') }))
  const asked = {
    url: new URL(`http://127.0.0.1:${ruled.app.port}/mcp`),
    work: { tools: ['work'] },
    pace: { clients: 1, tasks: 40 },
  }
  const { baseline } = await runLoad(loadOptions(asked), { recordBaseline: true })
  const checks = { baseline: parseBaseline(JSON.stringify(baseline)) }
  const clean = await load({ ...asked, checks })
  expect(clean.counts).toMatchObject({ correct: 40, failedTasks: 0 })
  const url = new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`)
  const matched = await load({ ...asked, url, checks })
  const seen = matched.faults[0]!
  expect(seen.seen).toBeGreaterThan(0)
  expect(seen).toMatchObject({ errors: 0, wrong: seen.seen })
  expect(matched.counts).toMatchObject({
    responded: 40,
    correct: 40 - seen.seen,
    silentFailures: seen.seen,
    safeFailures: 0,
  })
})

test('a file of calls gives arguments, weights and what is expected', async () => {
  const calls = parseCalls(`calls:
  - { tool: work, arguments: { topic: refunds }, weight: 9, expect: /structuredContent/total>2 }
  - { tool: rest, weight: 1 }
`)
  const server = open(await startUpstream('scripted', ['ok']))
  const result = await load({
    url: server.url,
    work: { calls },
    pace: { clients: 2, tasks: 200 },
  })
  const work = server.calls.filter(({ tool }) => tool === 'work')
  expect(work.every(({ args }) => JSON.stringify(args) === '{"topic":"refunds"}')).toBe(true)
  expect(work.length).toBeGreaterThan(150)
  expect(work.length).toBeLessThan(200)
  expect(result.counts.success).toBe(200)
})

test.each([
  ['calls: []', /line 1, column 8: calls: the list must not be empty/],
  [
    'calls: [{ tol: a }]',
    /line 1, column 11: calls\[0\]\.tol: unknown key "tol"; did you mean `tool`/,
  ],
  ['calls: [{ weight: 2 }]', /calls\[0\]: `tool` is missing/],
  [
    'calls: [{ tool: a, weight: 0 }]',
    /calls\[0\]\.weight: must be a number above 0 and up to 1000000; got 0/,
  ],
  ['calls: [{ tool: a, arguments: 3 }]', /calls\[0\]\.arguments: must be an object; got 3/],
  ['calls: [{ tool: a, expect: [total] }]', /missing a JSON Pointer/],
  ['calls: [{ tool: a, expect: 3 }]', /calls\[0\]\.expect: must be a string or a list; got 3/],
  ['weights: 3\ncalls: [{ tool: a }]', /line 1, column 1: weights: unknown key/],
  ['3', /must be an object \(calls\) or a list; got 3/],
  ['', /must be an object \(calls\) or a list; got nothing/],
  ['calls: [', /the calls file: line 1, column \d+: invalid YAML/],
])('the file of calls %s is refused', (text, why) => {
  expect(() => parseCalls(text)).toThrow(why)
})
