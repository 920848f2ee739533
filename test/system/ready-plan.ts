import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parse } from 'yaml'
import { READY_PLANS } from '../../packages/experiments/src/experiment/ready-plans.ts'
import type { ExperimentResult } from '../../packages/experiments/src/experiment/experiment-result.ts'
import { type Changes, mergePlans } from '../../packages/experiments/test/experiment/stage.ts'
import { startProgram } from '../support/commands.ts'

/** The addresses in a ready plan, and those of a test. */
type Addresses = Readonly<Record<string, string>>

/** Runs a ready plan with other addresses and shorter times. */
export async function runReady(
  wanted: string,
  addresses: Addresses,
  directory: string,
  changes: Changes,
): Promise<ExperimentResult> {
  const { text } = READY_PLANS.find(({ name }) => name === wanted)!
  const placed = Object.entries(addresses).reduce((all, [from, to]) => {
    expect(all).toContain(from)
    return all.replaceAll(from, to)
  }, text)
  const plan = join(directory, 'plan.yaml')
  await writeFile(plan, JSON.stringify(mergePlans(parse(placed) as Changes, changes)))
  const kept = ['--experiments', join(directory, 'runs'), '--state-dir', join(directory, 'state')]
  const run = startProgram(['experiment', 'run', plan, '--json', ...kept])
  const { stdout, stderr } = await run.finished()
  const result = JSON.parse(stdout === '' ? `{"why":${JSON.stringify(stderr)}}` : stdout)
  return result as ExperimentResult
}
