import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeReports } from '../../../src/lab/experiment/experiment-report.ts'
import type { ExperimentResult } from '../../../src/lab/experiment/experiment-result.ts'
import { addToHistory } from '../../../src/lab/experiment/history.ts'
import { pastTests, testsOf } from '../../../src/lab/next/past-tests.ts'
import { SEARCH_SCHEMA } from '../../../src/lab/search/search-result.ts'
import { startSquall } from '../../support/squall.ts'
import type { ExperimentStage } from '../experiment/stage.ts'

let stage: ExperimentStage
let experiments: string
let result: ExperimentResult

beforeAll(async () => {
  stage = await startSquall({ experiment: {} })
  experiments = join(stage.directory, 'experiments')
  result = await stage.run({ hold: '300ms', abortOn: undefined, slo: { success: '1%' } })
  const files = { file: 'plan.yaml', directory: stage.directory, text: stage.text(), files: {} }
  await writeReports(experiments, result, files)
  await addToHistory(experiments, result)
})

afterAll(() => stage.close())

it('a run of the history asked the questions of its rules', async () => {
  expect(result.verdict, result.why).toBe('passed')
  const [test, ...others] = await pastTests(experiments, result.target)
  expect(others).toEqual([])
  expect(test).toMatchObject({ question: 'error', passedShare: 20, failed: false, run: result.id })
  expect([test!.covers('work'), test!.covers('rest')]).toEqual([true, false])
  expect(await pastTests(experiments, 'http://127.0.0.1:1/mcp')).toEqual([])
})

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
  const kept = { file: 'plan.yaml', directory: '.', text: '', files: {} }
  await mkdir(join(experiments, id))
  const text = JSON.stringify({ result: { ...search, settings }, kept })
  await writeFile(join(experiments, id, 'search.json'), text)
  expect(await pastTests(experiments, result.target)).toEqual([])
})
