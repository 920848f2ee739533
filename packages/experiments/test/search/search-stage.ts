import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startProgram } from '../../../../test/support/commands.ts'
import type { Changes, ExperimentStage } from '../experiment/stage.ts'

/** Without retries, each injected error is an error of the load. */
const QUICK: Changes = {
  steadyState: { errors: '1%', for: '100ms' },
  hold: '500ms',
  load: { rate: 400, clients: 8 },
  abortOn: { errors: { limit: '99%', for: '10s' } },
}
export const ERRORS = ['--vary', 'percent=1%..25%', '--until', 'errors>5%']

/** Returns the flags for the directories of a stage. */
export function placesOf({ directory }: ExperimentStage): readonly string[] {
  const at = (name: string): string => join(directory, name)
  return ['--experiments', at('experiments'), '--state-dir', at('state')]
}

/** Writes a plan with short phases. */
export async function writePlan(stage: ExperimentStage, changes: Changes = {}): Promise<string> {
  const file = join(stage.directory, 'plan.yaml')
  await writeFile(file, stage.text({ ...QUICK, ...changes }))
  return file
}

export interface Searched {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Searches in this process. */
export function searchHere(stage: ExperimentStage, ...args: readonly string[]): Promise<Searched> {
  const line = ['experiment', 'search', ...args, ...placesOf(stage)]
  return startProgram(line, {}, { here: true })
}

/** Runs the program itself, whose standard error is kept. */
export function searchIn(stage: ExperimentStage, ...args: readonly string[]): Promise<Searched> {
  return startProgram(['experiment', 'search', ...args, ...placesOf(stage)]).finished()
}
