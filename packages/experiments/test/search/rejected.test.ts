// part: slow-nightly
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readHistory } from '../../src/experiment/history.ts'
import { SEARCH_SCHEMA } from '../../src/search/search-result.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import type { ExperimentStage } from '../experiment/stage.ts'
import { ERRORS, searchHere, searchIn, writePlan } from './search-stage.ts'

let stage: ExperimentStage

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
})

afterEach(() => stage.close())

const POINT = { magnitude: 5, evidence: 20, decision: 'failed' }

test.each([
  [[], []],
  ['percent=1%..5%', []],
  [['percent=1%..5%', 7], []],
  [['percent=1%..5%', 'delay=1s..9s'], [POINT]],
  [['percent=1%..5%', 'delay=1s..9s'], [{ ...POINT, second: -1 }]],
])('a stored search with invalid ranges or points is not resumed: %j, %j', async (vary, points) => {
  const id = '20260101-000000-abcdef'
  const directory = join(stage.directory, 'experiments', id)
  await mkdir(directory, { recursive: true })
  const settings = { vary, until: 'errors>5%' }
  const result = { schema: SEARCH_SCHEMA, startedAt: '', runs: [], calls: 0, points, settings }
  const kept = { file: 'plan.yaml', directory: '/', text: '', files: {} }
  await writeFile(join(directory, 'search.json'), JSON.stringify({ result, kept }))
  const { code, stderr } = await searchHere(stage, '--resume', id)
  expect(stderr).toContain(`search "${id}" not found in`)
  expect(code).toBe(2)
})

test('a rejected plan is reported as one, also in JSON', async () => {
  const plan = await writePlan(stage, { target: { environment: 'production' } })
  const { code, stdout } = await searchHere(stage, plan, ...ERRORS, '--json')
  expect(code).toBe(1)
  const { rejected } = JSON.parse(stdout) as { rejected: { code: string }[] }
  expect(rejected.map((each) => each.code)).toContain('PRODUCTION')
})

const POLICY = `
targets: ["http://127.0.0.1:*"]
environments: [staging]
maxPercent: 20%
require: [abortOn]
`

test.each([
  [['--vary', 'percent=1%..50%', '--until', 'errors>5%'], 'maxPercent'],
  [
    ['--vary', 'delay=1ms..9ms', '--vary', 'percent=1%..50%', '--until', 'errors>5%'],
    'no rule sets',
  ],
  [['--vary', 'percent=15%..18%', '--until', 'errors>5%'], 'firstStage'],
  [['--vary', 'delay=1s..2h', '--until', 'errors>5%'], 'no rule sets `fixed` on the fault delay'],
])('a range beyond the policy or the plan is rejected before a run: %j', async (asked, why) => {
  const policy = join(stage.directory, 'policy.yaml')
  await writeFile(policy, POLICY)
  const { code, stderr } = await searchIn(
    stage,
    await writePlan(stage, { stages: ['10%'] }),
    ...asked,
    '--policy',
    policy,
  )
  expect(stderr).toContain(why)
  expect(stderr).toContain('no fault was injected')
  expect(code).toBe(1)
  expect(await readHistory(join(stage.directory, 'experiments'))).toEqual([])
})

test('an invalid magnitude is rejected before a run', async () => {
  const rules = [{ name: 'late', match: { tool: 'work' }, faults: [{ delay: { fixed: '1ms' } }] }]
  const range = ['--vary', 'delay=1s..2h', '--until', 'errors>5%']
  const { code, stderr } = await searchIn(stage, await writePlan(stage, { rules }), ...range)
  expect(stderr).toContain('longer than `max`')
  expect(code).toBe(1)
})

test('an invalid pair of valid magnitudes is rejected before a run', async () => {
  const uniform = { min: '1ms', max: '1s' }
  const rules = [{ name: 'late', match: { tool: 'work' }, faults: [{ delay: { uniform } }] }]
  const pair = ['--vary', 'delay.uniform.min=1s..5s', '--vary', 'delay.uniform.max=2s..9s']
  const { code, stderr } = await searchIn(
    stage,
    await writePlan(stage, { rules }),
    ...pair,
    '--until',
    'errors>5%',
  )
  expect(stderr).toContain('the plan is invalid')
  expect(stderr).toContain('no fault was injected')
  expect(code).toBe(1)
  expect(await readHistory(join(stage.directory, 'experiments'))).toEqual([])
})

test.each([
  [[], '--vary is missing'],
  [['--vary', 'percent=1%..50%'], '--until is missing'],
  [['--vary', 'percent=0%..50%', '--until', 'errors>5%'], 'begins or ends at 0'],
  [['--vary', 'percent=50%..1%', '--until', 'errors>5%'], 'begins with the stronger value'],
  [['--vary', 'delay=1s..5MB', '--until', 'errors>5%'], 'different units'],
  [['--vary', 'hang=1s..5s', '--until', 'errors>5%'], 'is not a parameter of the fault'],
  [
    ['--vary', 'percent=1%..9%', '--vary', 'percent=1%..5%', '--until', 'errors>5%'],
    'varied twice',
  ],
  [['--vary', 'a=1..2', '--vary', 'b=1..2', '--vary', 'c=1..2'], 'one parameter or two'],
  [['--vary', 'percent=1%..50%', '--until', 'success>99%'], 'does not describe a failure'],
  [['--vary', 'percent=1%..50%', '--until', 'success<100%'], 'from 0.01% to 99.99%'],
  [['--vary', 'percent=1%..50%', '--until', 'blast>5%'], 'not counted per call'],
  [['--vary', 'percent=1%..50%', '--until', 'errors>5%', '--error-rates', '5%'], '--error-rates'],
  [['--resume', 'x'], '--resume keeps the plan'],
])('an invalid command line names its fix: %j', async (asked, why) => {
  const { code, stderr } = await searchHere(stage, await writePlan(stage), ...asked)
  expect(stderr).toContain(why)
  expect(code).toBe(2)
})
