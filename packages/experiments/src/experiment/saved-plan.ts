import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fieldsOf, isRecord, systemReason } from '#base'
import {
  type PlanLimits,
  type SavedPlan,
  type ReadAndSaved,
  type ReadPlan,
  readPlan,
} from './read-plan.ts'

/** Reports that a stored run does not exist or cannot be read. */
export class NotSavedError extends Error {
  override readonly name = 'NotSavedError'
}

/** Reads the stored plan of an earlier run. Throws a `NotSavedError`. */
export async function readSavedPlan(
  experiments: string,
  id: string,
  limits?: PlanLimits,
): Promise<ReadAndSaved> {
  if (!/^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$/.test(id)) {
    throw new NotSavedError('invalid run ID; squall experiment list shows the IDs')
  }
  let kept: unknown
  try {
    kept = JSON.parse(await readFile(join(experiments, id, 'plan.json'), 'utf8'))
  } catch (error) {
    const why = error instanceof SyntaxError ? 'plan.json is invalid JSON' : systemReason(error)
    throw new NotSavedError(`the run ${id} cannot be read in ${experiments} (${why})`, {
      cause: error,
    })
  }
  if (!isSavedPlan(kept)) throw new NotSavedError(`plan.json of the run ${id} is not a valid plan`)
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
export function filesOf({ files }: SavedPlan): (path: string) => Promise<string> {
  return async (path) => {
    const text = files[path]
    if (text === undefined) throw new NotSavedError(`${path} was not stored with the plan`)
    return text
  }
}
