import { afterEach, expect, test } from 'vitest'
import { Histogram } from '../../src/load/results/histogram.ts'
import { mergeResults, parseResult } from '../../src/load/results/merge-results.ts'
import { type LoadResult, LOAD_SCHEMA } from '../../src/load/results/result.ts'
import { parseSlo } from '../../src/load/results/slo.ts'
import { closeAll } from './closing.ts'
import { load } from './load-run.ts'
import { startUpstream, type Step } from '../../../../test/support/wire.ts'

const open = closeAll(afterEach)

const flaky = (call: number): Step =>
  call % 5 === 0 ? { ending: 'tool error', marker: 'r/abort' } : call % 7 === 0 ? 'empty' : 'ok'

async function shards(count: number, tasks: number): Promise<LoadResult[]> {
  const server = open(await startUpstream('scripted', flaky))
  const results: LoadResult[] = []
  for (let index = 0; index < count; index++) {
    results.push(
      await load({
        url: server.url,
        pace: { clients: 3, tasks },
        work: { fanOut: 2 },
        shard: { index, count },
        checks: { slo: [parseSlo('p99<10s'), parseSlo('success>99%')] },
      }),
    )
  }
  expect(server.calls).toHaveLength(tasks * 2)
  return results
}

test('the parts of a load together are the whole, and their results merge into one', async () => {
  const parts = await shards(3, 50)
  expect(parts.map(({ counts }) => counts.tasks)).toEqual([17, 17, 16])
  const merged = mergeResults(
    parts.map((part, i) => parseResult(JSON.stringify(part), `${i}.json`)),
  )
  const sum = (of: (part: LoadResult) => number): number =>
    parts.reduce((total, part) => total + of(part), 0)
  expect(merged.counts).toMatchObject({ tasks: 50, calls: 100 })
  expect(merged.counts.success).toBe(sum(({ counts }) => counts.success))
  expect(merged.indicators.tcsr).toBe(merged.counts.success / 100)
  expect(merged.indicators.blastRadius).toBe(merged.counts.failedTasks / 50)
  expect(merged.latency.histogram.count).toBe(100)
  const all = new Histogram()
  for (const part of parts) all.addAll(part.latency.histogram)
  expect(merged.latency).toEqual(all.latency())
  expect(merged.faults[0]).toMatchObject({ rule: 'r', fault: 'abort', seen: 20, errors: 20 })
  expect(merged.errors).toEqual([{ kind: 'tool', origin: 'injected', count: 20 }])
  expect(merged.tools.reduce((total, { calls }) => total + calls, 0)).toBe(100)
  expect(merged.timeline.points.reduce((total, { calls }) => total + calls, 0)).toBe(100)
  const perSecond = merged.timeline.points.map(({ histogram }) => histogram.count)
  expect(perSecond).toEqual(merged.timeline.points.map(({ calls }) => calls))
  expect(merged.run).toMatchObject({ mergedFrom: 3, complete: true })
  expect(merged.run.shard).toBeUndefined()
  // Gates are judged anew, on all of it.
  expect(merged.slo.map(({ gate, ok }) => [gate, ok])).toEqual([
    ['p99<10s', true],
    ['success>99%', false],
  ])
  // A merged result merges with other loads.
  const other = { ...merged, run: { ...merged.run, seed: 2 } }
  expect(mergeResults([merged, other]).run.mergedFrom).toBe(6)
  const [one, two, three] = parts as [LoadResult, LoadResult, LoadResult]
  for (const wrong of [[one], [one, two], [one, two, two], [one, two, three, merged]]) {
    expect(() => mergeResults(wrong)).toThrow(
      /are not a complete set of shards of one load; pass each shard from 0\/3 to 2\/3/,
    )
  }
})

test('shards with other calls are of another load', async () => {
  const [one, { run, ...two }] = (await shards(2, 4)) as [LoadResult, LoadResult]
  const mergedWith = (change: Partial<LoadResult['run']>) => () =>
    mergeResults([one, { ...two, run: { ...run, ...change } }])
  const { options } = run
  for (const change of [{ seed: 9 }, { options: { ...options, fanOut: 1 } }]) {
    expect(mergedWith(change)).toThrow('are not a complete set of shards of one load')
  }
  const alike = { target: 'http://127.0.0.1:1/mcp', options: { ...options, slo: [] } }
  expect(mergedWith(alike)().run.mergedFrom).toBe(2)
})

test('shards ask for different things', async () => {
  const server = open(await startUpstream('scripted', ['ok']))
  const asked: string[] = []
  for (const index of [0, 1]) {
    server.calls.length = 0
    await load({ url: server.url, pace: { clients: 2, tasks: 40 }, shard: { index, count: 2 } })
    asked.push(JSON.stringify(server.calls.map(({ tool, args }) => [tool, args])))
  }
  expect(asked[0]).not.toBe(asked[1])
})

test('what is no result of this version is refused by name', () => {
  const refused =
    (text: string): (() => unknown) =>
    () =>
      parseResult(text, 'a.json')
  expect(refused('{')).toThrow(/a\.json is not valid JSON/)
  expect(refused('{}')).toThrow(/a\.json is not a valid squall load result/)
  expect(refused('{"schema":"squall.load/9"}')).toThrow(
    `has schema squall.load/9, expected ${LOAD_SCHEMA}`,
  )
  expect(refused(`{"schema":"${LOAD_SCHEMA}","run":{}}`)).toThrow(
    /is not a valid squall load result/,
  )
})

test('runs that are years apart merge into a line of bounded length', async () => {
  const [one, two] = (await shards(2, 4)) as [LoadResult, LoadResult]
  const later = { ...two, run: { ...two.run, startedAt: '2039-01-01T00:00:00.000Z' } }
  expect(mergeResults([one, later]).timeline.points.length).toBeLessThanOrEqual(3600)
})

test('the tools that were not called and the faults that were missed are those of all loads', async () => {
  const [one, two] = (await shards(2, 4)) as [LoadResult, LoadResult]
  const called = one.tools[0]!.tool
  const why = 'destructive' as const
  const first = {
    ...one.run,
    leftOut: [
      { tool: 'pay', why },
      { tool: called, why },
    ],
  }
  const second = { ...two.run, leftOut: [{ tool: 'refund', why }], missedFaults: 5 }
  const { run } = mergeResults([
    { ...one, run: first },
    { ...two, run: second },
  ])
  expect(run.leftOut?.map(({ tool }) => tool)).toEqual(['pay', 'refund'])
  expect(run.missedFaults).toBe(5)
})

test('a result that is given twice is rejected', async () => {
  const server = open(await startUpstream('scripted', () => 'ok'))
  const result = await load({ url: server.url, pace: { clients: 1, tasks: 3 } })
  const again = parseResult(JSON.stringify(result), 'again.json')
  expect(() => mergeResults([result, again])).toThrow('two files have the same result')
})
