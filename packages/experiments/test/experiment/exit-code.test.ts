// part: slow
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import type { Changes, ExperimentStage } from './stage.ts'

let stage: ExperimentStage

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
})

afterEach(() => stage.close())

/** Runs `squall experiment run` with a plan; returns its exit code and its result. */
async function run(changes: Changes): Promise<readonly [code: number, result: ExperimentResult]> {
  const { code, stdout } = await startProgram(await commandLine(changes), {}, { here: true })
  return [code, JSON.parse(stdout) as ExperimentResult]
}

async function commandLine(changes: Changes): Promise<readonly string[]> {
  const { directory } = stage
  const plan = join(directory, 'plan.yaml')
  await writeFile(plan, stage.text({ hold: '300ms', ...changes }))
  const kept = ['--experiments', join(directory, 'kept'), '--state-dir', join(directory, 'state')]
  return ['experiment', 'run', plan, '--json', ...kept]
}

test('an experiment that passed exits with 0', async () => {
  const [code, { verdict }] = await run({})
  expect([verdict, code]).toEqual(['passed', 0])
})

test('a stage without an injection is inconclusive, and exits with 1', async () => {
  const faults = [{ abort: { toolError: 'no' } }]
  const rules = [{ name: 'late', match: { tool: 'work' }, after: 1_000_000, faults }]
  const [code, result] = await run({ rules })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'NO_INJECTIONS', stage: '20%' })
  expect(code).toBe(1)
})

test('a run that cannot be stored is reported, and exits with 1', async () => {
  const { directory } = stage
  const junit = join(directory, 'junit.xml')
  // Nothing can be created below a link to nowhere.
  await symlink(join(directory, 'gone', 'kept'), join(directory, 'kept'))
  const args = [...(await commandLine({})), '--junit', junit]
  const { code, stdout, stderr } = await startProgram(args, {}, { here: true })
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { verdict: 'passed' }])
  expect(await readFile(junit, 'utf8')).toContain('name="the experiment passes" time="0"/>')
  expect(stderr).toContain(`cannot be stored in "${join(directory, 'kept')}"`)
})

test.runIf(process.platform === 'linux')(
  'a run whose state directory is below /proc ends with an error',
  async () => {
    const args = [...(await commandLine({})).slice(0, -1), '/proc/self/state']
    const program = startProgram(args)
    onTestFinished(() => program.kill())
    const { code, stderr } = await program.finished()
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('"/proc/self/state" cannot be used: no such file or directory'),
    ])
  },
)

test('Ctrl-C while the rules are claimed is reported as JSON, and exits with 130', async () => {
  // The sidecar reads another file, so that the claim waits for it.
  const rulesFile = join(stage.directory, 'unread.yaml')
  const program = startProgram(await commandLine({ sidecar: { rulesFile } }))
  await eventually(() =>
    readFile(rulesFile).then(
      () => undefined,
      () => 'not claimed yet',
    ),
  )
  program.signal('SIGINT')
  const { code, stdout } = await program.finished()
  expect(code).toBe(130)
  expect(JSON.parse(stdout)).toEqual({
    ok: false,
    error: 'interrupted before the experiment had a result',
  })
})
