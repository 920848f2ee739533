// part: slow
import type { Policy } from '#rules'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type NextTests, writeReports } from '../../src/experiment/experiment-report.ts'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import { addToHistory } from '../../src/experiment/history.ts'
import { readSavedPlan, readStored } from '../../src/experiment/saved-plan.ts'
import type { SavedPlan } from '../../src/experiment/read-plan.ts'
import { nextTests } from '../../src/next/next-tests.ts'
import { pastTests, testsOf } from '../../src/next/past-tests.ts'
import { SEARCH_SCHEMA } from '../../src/search/search-result.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import type { ExperimentStage } from '../experiment/stage.ts'

let stage: ExperimentStage
let experiments: string
let result: ExperimentResult
let kept: SavedPlan
let next: NextTests | undefined

beforeAll(async () => {
  stage = await startSquall({ experiment: {} })
  experiments = join(stage.directory, 'experiments')
  result = await stage.run({
    steadyState: { for: '600ms' },
    hold: '300ms',
    abortOn: undefined,
    slo: { success: '1%' },
  })
  kept = { file: 'plan.yaml', directory: stage.directory, text: stage.text(), files: {} }
  next = await nextTests(experiments, result, kept)
  await writeReports(experiments, result, kept, next)
  await addToHistory(experiments, result)
})

afterAll(() => stage.close())

it('a run of the history asked the questions of its rules', async () => {
  expect(result.verdict, result.why).toBe('passed')
  const [test, ...others] = await pastTests(experiments, result.target)
  expect(others).toEqual([])
  expect(test).toMatchObject({
    question: 'error',
    known: 0.4,
    failed: false,
    result: 'passed at 20%',
  })
  expect([test!.covers('work'), test!.covers('rest')]).toEqual([true, false])
  expect(await pastTests(experiments, 'http://127.0.0.1:1/mcp')).toEqual([])
})

it('the report says what to test next, with numbers and commands for plans that are valid', async () => {
  const markdown = await readFile(join(experiments, result.id, 'report.md'), 'utf8')
  const html = await readFile(join(experiments, result.id, 'report.html'), 'utf8')
  expect(markdown).toContain('## What to test next')
  expect(markdown).toMatch(
    /\| work \| delay \(Do its callers tolerate[^|]*\| \d+ calls; never tested \|/,
  )
  expect(html).toContain('squall experiment next --target')
  const names = next!.plans.map(({ name }) => name)
  expect(names).toHaveLength(3)
  expect(names.join()).not.toContain('error')
  for (const name of names) {
    expect(html).toContain(`squall experiment run ${join(experiments, result.id, 'next', name)}`)
    const text = await readFile(join(experiments, result.id, 'next', name), 'utf8')
    const read = await readStored({ ...kept, text })
    expect(read).toMatchObject({ ok: true, rejections: [], plan: { sidecar: { kind: 'local' } } })
  }
})

it('a run whose load differs from that of earlier runs says so', async () => {
  const slower = structuredClone(result) as {
    -readonly [K in keyof ExperimentResult]: ExperimentResult[K]
  }
  const [tool] = slower.before.load!.tools
  const before = result.before.load!.tools[0]!.latency.summary.p95!
  Object.assign(tool!, { calls: 100, responded: 100 })
  Object.assign(tool!.latency.summary, { p95: before * 8 })
  const { table } = (await nextTests(experiments, slower, kept))!
  expect(table.rows[0]!.map(({ text }) => text).join(' ')).toMatch(/p95 is 8\.0 times the usual/)
})

it('a run that failed does not resemble itself', async () => {
  const failed = { ...result, verdict: 'failed' } as ExperimentResult
  const { table } = (await nextTests(experiments, failed, kept))!
  const rows = table.rows.map((row) => row.map(({ text }) => text).join(' ')).join('\n')
  expect(rows).toContain('failed at its first stage')
  expect(rows).not.toContain('as before the failure')
})

it('the policy of a run limits what its report says to test, and stands in its commands', async () => {
  const policy = {
    faults: ['delay'],
    neverTools: [],
    firstStage: 2,
    maxPercent: 5,
    maxDuration: 60_000,
  } as unknown as Policy
  const file = 'squall-policy.yaml'
  const { table, plans } = (await nextTests(experiments, result, kept, { policy, file }))!
  expect(table.rows.map((row) => row[1]!.text)).toEqual(['delay'])
  expect(table.rows[0]!.at(-1)!.text).toContain(`squall experiment run --policy ${file} `)
  expect(plans[0]!.plan).toContain('- 2%\n  - 5%\n')
})

it('the plan of a report has the query and the headers of the run', async () => {
  const url = `${result.target}?tenant=a`
  const text = kept.text.replace(result.target, url)
  const { plans } = (await nextTests(experiments, result, { ...kept, text }))!
  expect(plans[0]!.plan).toContain(url)
})

it.each(['null', '{}', '{"file":"a","directory":"","text":"","files":{"a":1}}'])(
  'a run whose stored plan is %s is left out',
  async (stored) => {
    const id = '20260102-000000-abcdef'
    await mkdir(join(experiments, id), { recursive: true })
    await writeFile(join(experiments, id, 'plan.json'), stored)
    await writeFile(join(experiments, id, 'report.json'), JSON.stringify({ ...result, id }))
    await addToHistory(experiments, { ...result, id })
    await expect(readSavedPlan(experiments, id)).rejects.toThrow('is not a valid plan')
    expect(await pastTests(experiments, result.target)).toHaveLength(1)
  },
)

it.each([
  [{ tool: 'wo*' }, ['work']],
  [undefined, ['work', 'rest']],
  [{ any: [{ tool: 'work' }] }, []],
  [{ not: { tool: 'work' } }, []],
])('a rule that matches %j covers %j', (match, covered) => {
  const faults = [{ abort: { toolError: 'no' } }]
  const [test] = testsOf(result, [{ name: 'a', ...(match && { match }), faults }])
  expect(['work', 'rest'].filter((tool) => test!.covers(tool))).toEqual(covered)
})

it('the runs of a search are left out: their verdicts are about one magnitude', async () => {
  const id = '20260101-000000-abcdef'
  const settings = { vary: ['percent=1%..5%'], until: 'errors>1%', precision: 0.1 }
  const search = {
    schema: SEARCH_SCHEMA,
    id,
    startedAt: '',
    points: [],
    runs: [result.id],
    calls: 1,
  }
  const stored = { ...kept, text: '' }
  await mkdir(join(experiments, id))
  const text = JSON.stringify({ result: { ...search, settings }, kept: stored })
  await writeFile(join(experiments, id, 'search.json'), text)
  expect(await pastTests(experiments, result.target)).toEqual([])
})
