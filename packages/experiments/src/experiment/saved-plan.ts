import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fieldsOf, isRecord, systemReason } from '#base'
import { PastRunError } from './history.ts'
import { RUN_ID } from './run-id.ts'
import {
  type PlanLimits,
  type SavedPlan,
  type ReadAndSaved,
  type ReadPlan,
  readPlan,
} from './read-plan.ts'

/** Reads the stored plan of an earlier run. Throws a `PastRunError`. */
export async function readSavedPlan(
  experiments: string,
  id: string,
  limits?: PlanLimits,
): Promise<ReadAndSaved> {
  if (!RUN_ID.test(id)) throw new PastRunError('invalid run ID')
  let kept: unknown
  try {
    kept = JSON.parse(await readFile(join(experiments, id, 'plan.json'), 'utf8'))
  } catch (error) {
    const why = error instanceof SyntaxError ? 'plan.json is invalid JSON' : systemReason(error)
    throw new PastRunError(`the run ${id} cannot be read in ${experiments} (${why})`)
  }
  if (!isSavedPlan(kept)) throw new PastRunError(`plan.json of the run ${id} is not a valid plan`)
  return { read: await readStored(kept, limits), kept }
}

export function isSavedPlan(value: unknown): value is SavedPlan {
  const { file, directory, text, files } = fieldsOf(value)
  return (
    [file, directory, text].every((each) => typeof each === 'string') &&
    isRecord(files) &&
    Object.values(files).every((each) => typeof each === 'string')
  )
}

/** Reads a stored plan again. */
export function readStored(
  kept: SavedPlan,
  { production, policy }: PlanLimits = {},
): Promise<ReadPlan> {
  const { file, directory, text } = kept
  return readPlan(text, { production, policy, file, directory, readText: filesOf(kept) })
}

/** Returns a function that reads the files stored with a plan. */
function filesOf({ files }: SavedPlan): (path: string) => Promise<string> {
  return async (path) => {
    const text = files[path]
    if (text === undefined) throw new PastRunError(`${path} was not stored with the plan`)
    return text
  }
}
