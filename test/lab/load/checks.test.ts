import { afterEach, expect, test } from 'vitest'
import { indicatorsOf, noCounts } from '../../../src/lab/indicators/indicators.ts'
import { parseBaseline } from '../../../src/lab/load/baseline.ts'
import { parseCalls } from '../../../src/lab/load/calls-file.ts'
import { parseExpectation } from '../../../src/lab/load/expectation.ts'
import { Histogram } from '../../../src/lab/load/results/histogram.ts'
import { runLoad } from '../../../src/lab/load/run-load.ts'
import { evaluateSlo, parseSlo } from '../../../src/lab/load/results/slo.ts'
import { closeAll } from './closing.ts'
import { load, loadOptions } from './load-run.ts'
import { scriptedListener } from '../../support/scripted-server.ts'
import { startUpstream } from '../../support/upstream.ts'
import { startSquall } from '../../support/squall.ts'

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
  ['total>0', /no JSON Pointer/],
  ['t/x', /no JSON Pointer/],
  ['t:/a~2', /no valid JSON Pointer/],
  ['t:/a>', /nothing behind >/],
  ['t:/a>many', /compares with >/],
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
  ['p99', /cannot be read/],
  ['p99<2', /unit of time/],
  ['p99<2%', /unit of time/],
  ['success>0.99', /two readings, 0\.99% and 99%; write it as 99% or 0\.5%/],
  ['success>1', /two readings/],
  ['success>101%', /from 0% to 100%/],
  ['p99<2 s', /cannot be read/],
  ['speed>1%', /"speed", which is not measured; use p50 to p99\.9, success/],
  ['tcaf<9%', /plain number/],
  ['p99<1.2.3s', /unit of time/],
  ['constructor<1%', /not measured/],
])('the gate %s is refused', (text, why) => {
  expect(() => parseSlo(text)).toThrow(why)
})

test.each([
  ['{', 'is no JSON'],
  ['[]', 'is none of the format squall.baseline/1'],
  ['{"schema":"squall.baseline/2","responses":{}}', 'is none of the format'],
  ['{"schema":"squall.baseline/1","responses":{"t/a":{"/b":"1"}}}', 'is none of the format'],
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
  const judged = { indicators: indicatorsOf(counts), latency: histogram.latency() }
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
  const nothing = { indicators: indicatorsOf(noCounts()), latency: new Histogram().latency() }
  expect(evaluateSlo([parseSlo('success>1%'), parseSlo('p99<1m')], nothing)).toMatchObject([
    { measured: null, ok: false },
    { measured: null, ok: false },
  ])
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
  ['calls: []', /line 1, column 8: calls: the list cannot be empty/],
  [
    'calls: [{ tol: a }]',
    /line 1, column 11: calls\[0\]\.tol: unknown key "tol"; did you mean `tool`/,
  ],
  ['calls: [{ weight: 2 }]', /calls\[0\]: `tool` is missing/],
  [
    'calls: [{ tool: a, weight: 0 }]',
    /calls\[0\]\.weight: needs a number above 0 and up to 1000000, found 0/,
  ],
  ['calls: [{ tool: a, arguments: 3 }]', /calls\[0\]\.arguments: needs an object, found 3/],
  ['calls: [{ tool: a, expect: [total] }]', /no JSON Pointer/],
  ['calls: [{ tool: a, expect: 3 }]', /calls\[0\]\.expect: needs text or a list, found 3/],
  ['weights: 3\ncalls: [{ tool: a }]', /line 1, column 1: weights: unknown key/],
  ['3', /needs an object \(calls\) or a list, found 3/],
  ['', /needs an object \(calls\) or a list, found nothing/],
  ['calls: [', /the file of calls: line 1, column \d+: not YAML/],
])('the file of calls %s is refused', (text, why) => {
  expect(() => parseCalls(text)).toThrow(why)
})
