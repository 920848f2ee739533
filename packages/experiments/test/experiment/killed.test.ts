// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { BEFORE, type ExperimentStage } from './stage.ts'

let stage: ExperimentStage
let kept: readonly string[]

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
  const at = (name: string): string => join(stage.directory, name)
  kept = ['--experiments', at('experiments'), '--state-dir', at('state')]
})

afterEach(() => stage.close())

async function planFile(changes: Readonly<Record<string, unknown>>): Promise<string> {
  const path = join(stage.directory, 'plan.yaml')
  await writeFile(path, stage.text(changes))
  return path
}

async function phaseOf(rule: string): Promise<string | undefined> {
  const response = await fetch(`${stage.squall.admin}/api/rules`)
  const { rules } = (await response.json()) as { rules: { name: string; phase: string }[] }
  return rules.find(({ name }) => name === rule)?.phase
}

test('after SIGKILL the rules expire, and the next experiment restores the rules file', async () => {
  const plan = await planFile({ hold: '1m', sidecar: { expiry: '1s' } })
  const program = startProgram(['experiment', 'run', plan, ...kept])
  await eventually(async () => ((await phaseOf('broken')) === 'on' ? undefined : program.stderr()))
  program.signal('SIGKILL')
  await program.ended
  const killedAt = performance.now()
  await eventually(async () => ((await phaseOf('broken')) === 'expired' ? undefined : 'armed'))
  expect(performance.now() - killedAt).toBeLessThan(20_000)
  // The file is left, and the next experiment restores it.
  expect(await stage.rules()).not.toBe(BEFORE)
  const next = await startProgram([
    'experiment',
    'run',
    await planFile({ hold: '300ms' }),
    ...kept,
  ]).finished()
  expect(next.stderr).toContain('died; squall restored the rules file')
  expect(next.stdout).toContain('Passed the stage 20 %')
  expect(next.code).toBe(0)
  expect(await stage.rules()).toBe(BEFORE)
})
