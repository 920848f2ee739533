import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import type { Changes, ExperimentStage } from './stage.ts'

let stage: ExperimentStage

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
})

afterEach(() => stage.close())

/** Runs `squall experiment run` with a plan; returns its exit code and its result. */
async function run(changes: Changes): Promise<readonly [code: number, result: ExperimentResult]> {
  const { directory } = stage
  const plan = join(directory, 'plan.yaml')
  await writeFile(plan, stage.text({ hold: '300ms', ...changes }))
  const kept = ['--experiments', join(directory, 'kept'), '--state-dir', join(directory, 'state')]
  const args = ['experiment', 'run', plan, '--json', ...kept]
  const { code, stdout } = await startProgram(args, {}, { here: true })
  return [code, JSON.parse(stdout) as ExperimentResult]
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
