// part: experiments
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { READY_PLANS } from '../../packages/experiments/src/experiment/ready-plans.ts'
import type { ExperimentResult } from '../../packages/experiments/src/experiment/experiment-result.ts'
import type { HistoryEntry } from '../../packages/experiments/src/experiment/history.ts'
import { eventually } from '../support/eventually.ts'
import { type Squall, startProgram, startSquall } from '../support/commands.ts'
import { PATIENCE } from './patience.ts'
import { type RestartingServer, startRestarting } from './restarting-server.ts'

// Needs nothing more than Node and the built program; on Linux alone, because a process is killed.

let directory: string
let server: RestartingServer
let squall: Squall
let kept: readonly string[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-experiments-'))
  server = await startRestarting(at('server.pid'))
  await writeFile(at('rules.yaml'), 'rules: []\n')
  const upstream = `http://127.0.0.1:${server.port}`
  const flags = ['--upstream', upstream, '--rules', at('rules.yaml'), '--environment', 'staging']
  // Process kills are real errors, and the guard is not what is tested here.
  squall = await startSquall(...flags, '--guard-error-rate', 'off')
  kept = ['--experiments', at('experiments'), '--state-dir', at('state')]
})

afterAll(async () => {
  await squall.close()
  await server.close()
  await rm(directory, { recursive: true, force: true })
})

function at(name: string): string {
  return join(directory, name)
}

/** One stage, and limits that it keeps. */
const SHORT = { stages: ['20%'], hold: '1s', slo: { success: '10%' }, abortOn: { errors: '99%' } }

function readyText(wanted: string): string {
  return READY_PLANS.find(({ name }) => name === wanted)!.text
}

/** A ready plan as it stands, but for where things are and for how long it takes. */
async function ready(text: string, changes: Readonly<Record<string, unknown>>): Promise<string> {
  const plan = parse(text) as Record<string, Record<string, unknown>>
  const url = `http://127.0.0.1:${squall.port}/mcp`
  const path = at('plan.yaml')
  const placed = {
    ...plan,
    target: { ...plan['target'], url },
    sidecar: { ...plan['sidecar'], admin: squall.admin, expiry: '5s' },
    steadyState: { ...plan['steadyState'], p95: '5s', for: '500ms', within: '30s' },
    // No monitoring runs here.
    expect: undefined,
    ...changes,
  }
  await writeFile(path, JSON.stringify(placed))
  return path
}

/** The plans with a server or an alert of their own run in ready-plans.test.ts. */
const FOR_EXAMPLE = READY_PLANS.filter(
  ({ name }) => !/^(dependency-blocked|held-sessions)$/.test(name),
)

test.each(FOR_EXAMPLE)('the ready plan $name comes to a verdict', async ({ name, text }) => {
  const plan = await ready(text, { hold: name === 'process-kill' ? '5s' : '2s' })
  const { stdout, stderr, code } = await startProgram([
    'experiment',
    'run',
    plan,
    '--json',
    ...kept,
  ]).finished()
  if (stdout === '') throw new Error(stderr)
  const result = JSON.parse(stdout) as ExperimentResult
  expect(result.verdict, `${result.code}: ${result.why}`).not.toBe('inconclusive')
  expect(code).toBe(result.verdict === 'passed' ? 0 : 1)
  expect(result).toMatchObject({ name, restored: true, steadyAfter: true })
  for (const stage of result.stages) {
    if (name === 'process-kill') expect(stage.restartMs).toBeGreaterThan(0)
    else expect(stage.applied).toBeGreaterThan(0)
  }
})

test('Ctrl-C restores the rules file, writes a partial report, and exits with 130', async () => {
  const plan = await ready(readyText('latency'), { hold: '1m' })
  const program = startProgram(['experiment', 'run', plan, ...kept])
  await eventually(async () => ((await isArmed()) ? undefined : program.stderr()), PATIENCE)
  program.signal('SIGINT')
  expect((await program.ended).code).toBe(130)
  expect(program.stdout()).toContain('Interrupted at 10 %: no verdict.')
  await eventually(async () => ((await isArmed()) ? 'armed' : undefined), PATIENCE)
})

test('a run is stored with its reports, listed, and repeated exactly', async () => {
  const rulesFile = at('slow.yaml')
  await writeFile(
    rulesFile,
    'seed: 9\nrules: [{ name: broken, match: { tool: search_docs }, faults: [abort: { toolError: x }] }]',
  )
  const plan = await ready(readyText('latency'), { rules: './slow.yaml', ...SHORT })
  const first = await startProgram(['experiment', 'run', plan, '--json', ...kept]).finished()
  expect(first).toMatchObject({ code: 0, stderr: '' })
  const result = JSON.parse(first.stdout) as ExperimentResult
  expect(result).toMatchObject({ schema: 'squall.experiment/1', verdict: 'passed', seed: 9 })
  const place = join(at('experiments'), result.id)
  const files = ['next', 'plan.json', 'report.html', 'report.json', 'report.md']
  expect((await readdir(place)).sort()).toEqual(files)
  expect(JSON.parse(await readFile(join(place, 'report.json'), 'utf8'))).toEqual(result)
  expect(await readFile(join(place, 'report.md'), 'utf8')).toContain('# latency: passed')
  expect(await readFile(join(place, 'report.html'), 'utf8')).toContain('Stage 20%')
  // Edits since then do not matter.
  await writeFile(rulesFile, 'rules: []')
  await writeFile(plan, '')
  const again = await startProgram(['experiment', 'again', result.id, ...kept]).finished()
  expect(again.code).toBe(0)
  const listed = await startProgram([
    'experiment',
    'list',
    '--json',
    ...kept.slice(0, 2),
  ]).finished()
  const [one, two] = (JSON.parse(listed.stdout) as HistoryEntry[]).slice(-2)
  expect(one).toMatchObject({ id: result.id, rulesDigest: result.rulesDigest, seed: 9 })
  const { planDigest, rulesDigest, seed } = one!
  expect(two).toMatchObject({ again: result.id, planDigest, rulesDigest, seed, verdict: 'passed' })
})

test('rejected and invalid plans have their own exit codes', async () => {
  const url = `http://127.0.0.1:${squall.port}/mcp`
  const target = { url, environment: 'production' }
  const rejected = await ready(readyText('latency'), { target })
  const validated = await startProgram(['experiment', 'validate', rejected]).finished()
  expect(validated.code).toBe(1)
  expect(validated.stdout).toMatch(
    /plan\.yaml:\d+:\d+: PRODUCTION: the environment "production" counts as production/,
  )
  const run = await startProgram(['experiment', 'run', rejected, '--json', ...kept]).finished()
  expect(run.code).toBe(1)
  expect(JSON.parse(run.stdout)).toMatchObject({ rejected: [{ code: 'PRODUCTION' }] })
  const bad = await ready(readyText('latency'), { holdd: '1m' })
  const mistaken = await startProgram(['experiment', 'run', bad, ...kept]).finished()
  expect(mistaken.code).toBe(2)
  expect(mistaken.stderr).toContain('unknown key "holdd"; did you mean `hold`?')
  expect((await startProgram(['experiment', 'run', ...kept]).finished()).code).toBe(2)
})

async function isArmed(): Promise<boolean> {
  const response = await fetch(`${squall.admin}/api/rules`)
  const { rules } = (await response.json()) as { rules: { name: string; phase: string }[] }
  return rules.some(({ name, phase }) => name === 'slow-search' && phase === 'on')
}
