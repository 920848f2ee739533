// part: slow-nightly
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readHistory } from '../../src/experiment/history.ts'
import type { PastSearch, SearchResult } from '../../src/search/search-result.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { againAfterStall } from '../../../../test/support/stalls.ts'
import { BEFORE, type Changes, type ExperimentStage } from '../experiment/stage.ts'
import { ERRORS, placesOf, type Searched, searchHere, searchIn, writePlan } from './search-stage.ts'

let stage: ExperimentStage
let experiments: string
/** The calls after which the server fails by itself. */
let failAfter: number

beforeEach(async () => {
  failAfter = Infinity
  stage = await startSquall({
    experiment: { script: () => (stage.server.calls.length > failAfter ? 'tool error' : 'ok') },
  })
  experiments = join(stage.directory, 'experiments')
})

afterEach(() => stage.close())

const directories = (): readonly string[] => placesOf(stage)
const planFile = (changes?: Changes): Promise<string> => writePlan(stage, changes)
const search = (...args: readonly string[]): Promise<Searched> => searchHere(stage, ...args)
const searchApart = (...args: readonly string[]): Promise<Searched> => searchIn(stage, ...args)

const resultOf = ({ stdout }: Searched): SearchResult => JSON.parse(stdout) as SearchResult

test('the limit of the share of failing calls is found, and the rules are restored', async () => {
  const found = await search(
    await planFile(),
    ...ERRORS,
    '--precision',
    '100%',
    '--runs-at-one',
    '1',
    '--json',
  )
  expect(found.code).toBe(0)
  const result = resultOf(found)
  const { interval, points, runs, where } = result
  // Each sampled call fails, so that 5 % of errors are 5 % of calls.
  expect(where).toBe('within')
  expect(interval[0]).toBeLessThanOrEqual(5.2)
  expect(interval[1]).toBeGreaterThanOrEqual(4.8)
  expect(interval[1]).toBeLessThan(25)
  expect(points[0]).toMatchObject({ magnitude: 1, decision: 'passed' })
  expect(await stage.rules()).toBe(BEFORE)
  // Each run checks the steady state before and after, and is in the history.
  const history = await readHistory(experiments)
  expect(history.map(({ id }) => id)).toEqual(runs)
  // The plan that fails is one that can be run.
  const failing = await readFile(result.failingPlan!, 'utf8')
  expect(failing).toContain('"errors": "5%"')
  const again = ['experiment', 'run', result.failingPlan!, ...directories(), '--json']
  const { stdout } = await startProgram(again, {}, { here: true })
  expect(JSON.parse(stdout)).toMatchObject({ verdict: 'failed', code: 'SLO' })
})

test('the limit of a delay is the time limit of the calls', () =>
  againAfterStall(async () => {
    const rules = [{ name: 'late', match: { tool: 'work' }, faults: [{ delay: { fixed: '1ms' } }] }]
    const load = { rate: 200, clients: 80, timeout: '2s' }
    const plan = await planFile({ rules, load, hold: '1200ms' })
    const vary = ['--vary', 'delay=400ms..8s', '--until', 'success<95%']
    const found = await searchApart(plan, ...vary, '--precision', '40%')
    expect(found.code).toBe(0)
    const kept = await keptSearch(found)
    const [low, high] = kept.result.interval
    expect(low).toBeGreaterThan(800)
    expect(low).toBeLessThanOrEqual(2010)
    expect(high).toBeGreaterThanOrEqual(1960)
    expect(high).toBeLessThan(4800)
    // The curve, the limit and its interval.
    expect(found.stdout).toMatch(/^ *400ms +0 % of \d+: passed$/m)
    expect(found.stdout).toMatch(/#+ +\d+(\.\d)? % of \d+: failed$/m)
    expect(found.stdout).toMatch(/success<95% is true from delay\.fixed [\d.]+m?s on; with 95/)
    expect(found.stderr).toMatch(/^run 1: delay\.fixed 400ms: 0 % of \d+ calls failed/m)
    // No magnitude is more than three times the strongest that passed.
    expect(kept.result.points[1]).toMatchObject({ magnitude: 1200 })
  }))

/** Returns the stored search that the text names. */
async function keptSearch({ stdout }: Searched): Promise<PastSearch> {
  const id = /search ([0-9a-f-]+)\.$/m.exec(stdout)?.[1]
  return JSON.parse(await readFile(join(experiments, id!, 'search.json'), 'utf8')) as PastSearch
}

test('the boundary of two parameters is found, drawn and reproduced', async () => {
  const limit = { calls: 20, per: '1h' }
  const rules = [{ name: 'busy', match: { tool: 'work' }, faults: [{ rateLimit: { limit } }] }]
  const plan = await planFile({ rules })
  const vary = ['--vary', 'percent=4%..25%', '--vary', 'rateLimit=20..1', '--until', 'errors>5%']
  const found = await searchApart(plan, ...vary, '--precision', '100%', '--runs-at-one', '1')
  expect(found.code, found.stderr).toBe(0)
  const { result } = await keptSearch(found)
  expect(result).toMatchObject({ where: 'within', limit: null, end: { code: 'FOUND' } })
  expect(result.points[0]).toMatchObject({ magnitude: 4, second: 20, decision: 'passed' })
  const boundary = result.boundary!
  expect(boundary.map(({ second }) => second)).toEqual([20, 9, 4, 2, 1])
  // A percent is 2 of 200 calls. More than 10 fail, beside those that the limit lets pass.
  for (const { second, interval } of boundary) {
    const [low, high] = interval
    expect(low ?? 4, `${second} calls`).toBeLessThanOrEqual((5 + second / 2) * 1.3)
    expect(high ?? 25, `${second} calls`).toBeGreaterThanOrEqual((5 + second / 2) * 0.7)
  }
  expect(boundary.at(-1)!.interval[1]).toBeLessThan(15)
  // The grid, the limits and the plan.
  expect(found.stdout).toMatch(/^rateLimit\.limit\.calls +20 +9 +4 +2 +1$/m)
  expect(found.stdout).toMatch(/^ +25% .*#x?$/m)
  expect(found.stdout).toMatch(/^ +4% +[.~]o/m)
  expect(found.stdout).toMatch(
    /^rateLimit\.limit\.calls 1: errors>5% is true from percent [\d.]+%/m,
  )
  expect(found.stderr).toMatch(/^run 1: percent 4%, rateLimit\.limit\.calls 20: 0 % of \d+ calls/m)
  expect(await stage.rules()).toBe(BEFORE)
  const again = ['experiment', 'run', result.failingPlan!, ...directories(), '--json']
  const { stdout } = await startProgram(again, {}, { here: true })
  expect(JSON.parse(stdout)).toMatchObject({ verdict: 'failed', code: 'SLO' })
})

/** A plan whose errors depend on one of two parameters. */
const BOTH: Changes = {
  rules: [
    {
      name: 'broken',
      match: { tool: 'work' },
      faults: [{ delay: { fixed: '1ms' } }, { abort: { toolError: 'no' } }],
    },
  ],
}
const PAIRS = [...ERRORS, '--vary', 'delay=1ms..20ms']

test.each([
  [{}, ERRORS],
  [BOTH, PAIRS],
])('a search that used its budget goes on later: %j, %j', async (changes, range) => {
  const first = resultOf(
    await search(await planFile(changes), ...range, '--max-runs', '2', '--json'),
  )
  expect(first.end.code).toBe('BUDGET')
  expect(first.runs).toHaveLength(2)
  const second = await search('--resume', first.id, '--max-runs', '1', '--json')
  expect(second.code).toBe(1)
  const result = resultOf(second)
  expect(result.id).toBe(first.id)
  expect(result.runs.slice(0, 2)).toEqual(first.runs)
  expect(result.runs).toHaveLength(3)
  expect(result.points.slice(0, first.points.length)).toEqual(first.points)
  expect(result.calls).toBeGreaterThan(first.calls)
  // Runs with the same seed would sample the same calls.
  const seeds = (await readHistory(experiments)).map(({ seed }) => seed)
  expect(new Set(seeds).size).toBe(3)
})

test('a search that is resumed in another directory runs the plan with the paths of the first', async () => {
  const file = await planFile(BOTH)
  const relative = (await readFile(file, 'utf8')).replaceAll(`${stage.directory}/`, '')
  expect(relative).toContain('rules.yaml')
  await writeFile(file, relative)
  const searchFrom = (cwd: string, ...args: readonly string[]) =>
    startProgram(['experiment', 'search', ...args, ...directories()], {}, { cwd }).finished()
  const begun = await searchFrom(
    stage.directory,
    'plan.yaml',
    ...PAIRS,
    '--max-runs',
    '1',
    '--json',
  )
  const { id } = resultOf(begun)
  const result = resultOf(await searchFrom('/', '--resume', id, '--max-runs', '1', '--json'))
  expect(result.end.code).toBe('BUDGET')
  expect(result.runs).toHaveLength(2)
  expect(await stage.rules()).toBe(BEFORE)
})

test('a search goes on whose process died, and the rules are restored', async () => {
  const line = ['experiment', 'search', await planFile(BOTH), ...PAIRS, ...directories()]
  const program = startProgram(line)
  await eventually(async () =>
    program.stderr().includes('\nrun 1: ') && (await stage.rules())?.includes('"broken"') === true
      ? undefined
      : 'no second run yet',
  )
  await program.kill()
  const id = /^search (\S+)$/m.exec(program.stderr())![1]!
  expect(await stage.rules()).not.toBe(BEFORE)
  const result = resultOf(await search('--resume', id, '--max-runs', '1', '--json'))
  expect(result.id).toBe(id)
  expect(result.runs).toHaveLength(2)
  expect(await stage.rules()).toBe(BEFORE)
})

test('calls and time are bounded before a run', async () => {
  const plan = await planFile()
  const calls = resultOf(await search(plan, ...ERRORS, '--max-calls', '500', '--json'))
  expect(calls.end).toMatchObject({ code: 'BUDGET' })
  expect(calls.end.why).toContain('--max-calls')
  expect(calls.runs).toHaveLength(1)
  const time = resultOf(await search(plan, ...ERRORS, '--max-time', '1s', '--json'))
  expect(time.end.why).toContain('--max-time')
  expect(time.runs).toHaveLength(1)
})

test('a rate counts calls, also where a task makes several', async () => {
  const load = { rate: 200, clients: 80, timeout: '2s', fanOut: 5 }
  const plan = await planFile({ load })
  const { runs } = resultOf(await search(plan, ...ERRORS, '--max-calls', '400', '--json'))
  expect(runs.length).toBeGreaterThan(0)
})

test('Ctrl-C restores the rules and keeps what is known', async () => {
  const plan = await planFile({ hold: '20s' })
  const line = ['experiment', 'search', plan, ...ERRORS, ...directories()]
  const program = startProgram(line)
  await eventually(async () =>
    (await stage.rules())?.includes('"broken"') === true ? undefined : 'no rules yet',
  )
  program.signal('SIGINT')
  const { code, stdout } = await program.finished()
  expect(code).toBe(130)
  expect(stdout).toContain('INTERRUPTED')
  expect(stdout).toContain('experiment search --resume')
  expect(await stage.rules()).toBe(BEFORE)
  const { result } = await keptSearch({ code, stdout, stderr: '' })
  expect(result.runs).toHaveLength(1)
})

test('a mildest magnitude that fails lies beyond the limit', async () => {
  const plan = await planFile()
  const range = ['--vary', 'percent=20%..25%', '--until', 'errors>1%']
  const result = resultOf(await search(plan, ...range, '--json'))
  expect(result).toMatchObject({ where: 'below', limit: null, end: { code: 'FOUND' } })
})

test('a stage ends as soon as its magnitude has failed', async () => {
  const plan = await planFile({ hold: '30s' })
  const range = ['--vary', 'percent=20%..25%', '--until', 'errors>1%', '--max-runs', '1']
  const began = performance.now()
  const result = resultOf(await search(plan, ...range, '--json'))
  expect(result.points).toMatchObject([{ decision: 'failed', runs: 1 }])
  expect(performance.now() - began).toBeLessThan(15_000)
})

test('a target that does not recover ends the search', async () => {
  failAfter = 150
  const steadyState = { errors: '1%', for: '100ms', within: '500ms' }
  const result = resultOf(await search(await planFile({ steadyState }), ...ERRORS, '--json'))
  expect(result.end.code).toBe('NOT_RECOVERED')
  expect(result.runs).toHaveLength(1)
  expect(await stage.rules()).toBe(BEFORE)
  // Another search may not begin.
  const next = resultOf(await search(await planFile({ steadyState }), ...ERRORS, '--json'))
  // Its own guard may have disarmed the sidecar, too.
  expect(['NOT_STEADY', 'SIDECAR_DISARMED']).toContain(next.end.code)
  expect(next.runs).toEqual([])
})
