// part: slow-nightly
import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Comparison, comparisonTables, compareResults } from '../../src/experiment/compare.ts'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { experimentMarkdown, writeReports } from '../../src/experiment/experiment-report.ts'
import type { ExperimentResult, FactKind } from '../../src/experiment/experiment-result.ts'
import { addToHistory } from '../../src/experiment/history.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { FIRING, startMonitor } from './monitor.ts'
import type { Changes, ExperimentStage } from './stage.ts'

let stage: ExperimentStage
let passed: ExperimentResult
let failed: ExperimentResult
let experiments: string

beforeAll(async () => {
  let calls = 0
  // Real errors are rare, but the first one is known.
  stage = await startSquall({
    experiment: { script: () => (++calls === 60 ? 'tool error' : 'ok') },
  })
  experiments = join(stage.directory, 'experiments')
  const brisk = { steadyState: { errors: '20%' }, load: { rate: 200 } }
  passed = await stored({ ...brisk, slo: { errors: '60%', p95: '2s' } })
  failed = await stored({
    ...brisk,
    hold: '20s',
    stages: ['20%', '40%'],
    abortOn: { errors: '5%' },
  })
})

afterAll(() => stage.close())

async function stored(changes: Changes): Promise<ExperimentResult> {
  const result = await stage.run(changes)
  const kept = {
    file: 'plan.yaml',
    directory: stage.directory,
    text: stage.text(changes),
    files: {},
  }
  await writeReports(experiments, result, kept)
  await addToHistory(experiments, result)
  return result
}

function experiment(...args: string[]) {
  return startProgram(['experiment', ...args, '--experiments', experiments], {}, { here: true })
}

async function json<T>(...args: string[]): Promise<T> {
  const { stdout, code, stderr } = await experiment(...args, '--json')
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as T
}

test('the facts of a run are in the order of their times', () => {
  expect([passed.verdict, failed.verdict]).toEqual(['passed', 'failed'])
  const kinds = failed.facts.map(({ kind }) => kind)
  for (const [earlier, later] of [
    ['phase', 'injection'],
    ['injection', 'rollback'],
    ['detection', 'end'],
    ['end', 'rollback'],
    ['rollback', 'recovery'],
  ] as const) {
    expect(kinds).toContain(earlier)
    expect(kinds.indexOf(earlier), `${earlier}, ${later}`).toBeLessThan(kinds.lastIndexOf(later))
  }
  const times = failed.facts.map(({ at }) => Date.parse(at))
  expect(times).toEqual([...times].sort((a, b) => a - b))
  const of = (kind: string): number => times[kinds.indexOf(kind as 'end')]!
  expect(of('rollback') - of('end')).toBeLessThanOrEqual(failed.rollbackMs! + 1)
  expect(failed.facts.find(({ kind }) => kind === 'end')!.text).toContain('errors >5%: it is')
  expect(kinds.filter((kind) => kind === 'rollback')).toHaveLength(1)
  // Each run has the steady state before, its stage, and the steady state after.
  const phases = passed.facts.flatMap(({ kind, text }) => (kind === 'phase' ? text : []))
  expect(phases.filter((text) => text.endsWith('begins'))).toEqual([
    'steady state before begins',
    'stage 20% begins',
    'steady state after begins',
  ])
  expect(passed.facts.filter(({ kind }) => kind === 'real_error')).toHaveLength(1)
})

test('the alert that fired is among the facts, after the faults and before the rollback', async () => {
  const monitor = await startMonitor()
  let breaks = false
  const own = await startSquall({
    experiment: { script: () => (breaks ? ((breaks = false), 'tool error') : 'ok') },
  })
  try {
    let isSeen = false
    const onEvent = (event: ExperimentEvent): void => {
      if (event.kind === 'phase' && event.stage !== undefined) breaks = true
      if (event.kind === 'rolled-back') monitor.alerts = []
      if (isSeen || event.kind !== 'moment' || (event.applied ?? 0) === 0) return
      isSeen = true
      setTimeout(() => {
        monitor.alerts = [{ ...FIRING, startsAt: new Date().toISOString() }]
      }, 300)
    }
    const alert = { name: 'McpErrorsHigh', within: '20s', resolved: '10s' }
    const result = await own.run(
      { expect: { alert: { ...alert, alertmanager: monitor.url } } },
      { onEvent },
    )
    expect(result, result.why).toMatchObject({ verdict: 'passed', code: null })
    const { facts } = result
    const times = facts.map(({ at }) => Date.parse(at))
    expect(times).toEqual([...times].sort((a, b) => a - b))
    const place = (kind: FactKind): number => facts.findIndex((fact) => fact.kind === kind)
    const isOf = (text: string): number => facts.findIndex((fact) => fact.text === text)
    const order = [
      isOf('stage 20% begins'),
      place('injection'),
      place('alert'),
      place('rollback'),
      isOf('steady state after begins'),
      place('recovery'),
    ]
    expect(order[0]).toBeGreaterThan(0)
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(place('detection')).toBe(-1)
    expect(facts.filter(({ kind }) => kind === 'real_error')).toHaveLength(1)
    const found = facts[place('alert')]!
    expect(found.at).toBe(result.alerts[0]!.startsAt)
    expect(found.text).toBe(
      'the alert McpErrorsHigh starts, according to the clock of alertmanager',
    )
    expect(experimentMarkdown(result)).toContain(found.text)
  } finally {
    await own.close()
    await monitor.close()
  }
})

test('each gate has its margin in each phase', () => {
  const [stageOne] = passed.stages
  const errors = passed.gates.find(({ from, gate }) => from === 'slo' && gate === 'errors<=60%')!
  const { calls, responded } = stageOne!.load!.counts
  expect(errors).toMatchObject({ phase: '20%', ok: true, measured: (calls - responded) / calls })
  expect(errors.margin!.counted).toMatchObject({ total: calls, beyond: calls - responded })
  expect(passed.gates.map(({ from }) => from)).toEqual(['steadyState', 'abortOn', 'slo', 'slo'])
  const abort = failed.gates.find(({ from }) => from === 'abortOn')!
  expect(abort).toMatchObject({ gate: 'errors<=5%', ok: false })
  expect(abort.margin!.distance).toBeLessThan(0)
})

test('a run is shown by the beginning of its id, and the last one by name', async () => {
  expect(await json('show', 'last')).toEqual(JSON.parse(JSON.stringify(failed)))
  expect(await json('show', passed.id)).toEqual(JSON.parse(JSON.stringify(passed)))
  const { stdout } = await experiment('show', passed.id.slice(0, -1))
  expect(stdout).toContain('Passed the stage 20 %')
  expect(stdout).toContain('server scripted 1.0.0')
  expect(stdout).toMatch(/Fault +first injected fault/)
  expect(stdout).toMatch(/errors<=60% \(slo\) .* points left .* more allowed/)
})

test.each([
  ['20990101', 'run "20990101" not found in'],
  ['2', '2 runs have the id prefix "2"'],
  ['../../etc', 'run "../../etc" not found in'],
])('the run %s is rejected', async (id, message) => {
  for (const command of ['show', 'again']) {
    const { code, stderr } = await experiment(command, id)
    expect(code).toBe(2)
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(message)
  }
})

test('the history is filtered by name, verdict and number', async () => {
  const ids = async (...flags: string[]) =>
    (await json<{ id: string }[]>('list', ...flags)).map(({ id }) => id)
  expect(await ids()).toEqual([passed.id, failed.id])
  expect(await ids('--verdict', 'passed')).toEqual([passed.id])
  expect(await ids('--limit', '1')).toEqual([failed.id])
  expect(await ids('other')).toEqual([])
  expect((await experiment('list', 'other')).stdout).toBe('no run matches\n')
  expect(await json('list', '--limit', '1')).toMatchObject([
    { squall: '0.0.0', server: 'scripted 1.0.0', planDigest: failed.planDigest },
  ])
})

test('runs are compared phase by phase, and differences are marked', async () => {
  const comparison = await json<Comparison>('compare', passed.id, 'last')
  expect(comparison.runs.map(({ verdict }) => verdict)).toEqual(['passed', 'failed'])
  const at20 = comparison.phases.find(({ phase }) => phase === '20%')!
  const calls = at20.metrics.find(({ metric }) => metric === 'calls')!
  expect(calls.values).toEqual([passed, failed].map(({ stages }) => stages[0]!.load!.counts.calls))
  const same = comparisonTables({ ...comparison, runs: [comparison.runs[0]!, comparison.runs[0]!] })
  expect(same[0]!.rows.flat().some(({ text }) => text.startsWith('≠'))).toBe(false)
  const file = join(stage.directory, 'compared.html')
  const { stdout } = await experiment('compare', passed.id, failed.id, '--report', file)
  expect(stdout).toMatch(/Verdict +passed +≠ failed at 20%/)
  const html = await readFile(file, 'utf8')
  expect(html).toContain('≠ failed at 20%')
  expect(html).toContain(`${passed.id} stage 20%`)
})

test('times below a second are compared in milliseconds', () => {
  const [runs] = comparisonTables(compareResults([{ ...passed, rollbackMs: 34 }]))
  expect(runs!.rows).toContainEqual([{ text: 'Rollback' }, { text: '34 ms' }])
})

test('shares differ when chance does not explain the difference', () => {
  const withErrors = (result: ExperimentResult, responded: number, calls: number) => {
    const [one] = result.stages
    const counts = { ...one!.load!.counts, calls, responded }
    return { ...result, stages: [{ ...one!, load: { ...one!.load!, counts } }] }
  }
  const differs = (a: number, b: number, calls: number): boolean => {
    const { phases } = compareResults([withErrors(passed, a, calls), withErrors(passed, b, calls)])
    const { metrics } = phases.find(({ phase }) => phase === '20%')!
    return metrics.find(({ metric }) => metric === 'errors')!.differs[1]!
  }
  expect(differs(95, 90, 100)).toBe(false)
  expect(differs(950, 900, 1000)).toBe(true)
})

test('a stored result that is damaged is rejected', async () => {
  const id = '20200101-000000-abcdef'
  const directory = join(experiments, id)
  await mkdir(directory)
  const history = join(experiments, 'history.jsonl')
  const before = await readFile(history, 'utf8')
  await appendFile(history, `${JSON.stringify({ ...passed, id })}\n`)
  const file = join(directory, 'report.json')
  for (const text of ['{', '{}', JSON.stringify({ ...passed, why: 7 })]) {
    await writeFile(file, text)
    const { code, stderr } = await experiment('show', id)
    expect(code).toBe(2)
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('is not an experiment report')
  }
  await rename(file, join(directory, 'other.json'))
  expect((await experiment('show', id)).stderr).toContain('no such file')
  await writeFile(history, before)
})
