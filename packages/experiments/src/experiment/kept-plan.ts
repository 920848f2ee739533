import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fieldsOf, isRecord } from '#base'
import type { ProductionCheck } from '#rules'
import type { Policy } from '../policy/policy-schema.ts'
import { type KeptPlan, type ReadAndKept, type ReadPlan, readPlan } from './read-plan.ts'

/** Reports that a stored run does not exist or cannot be read. */
export class NotKeptError extends Error {
  override readonly name = 'NotKeptError'
}

/** Reads the stored plan of an earlier run. Throws a `NotKeptError`. */
export async function readKept(
  experiments: string,
  id: string,
  production?: ProductionCheck,
  policy?: Policy,
): Promise<ReadAndKept> {
  if (!/^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$/.test(id)) {
    throw new NotKeptError('invalid id of a run; squall experiment list shows the ids')
  }
  let kept: unknown
  try {
    kept = JSON.parse(await readFile(join(experiments, id, 'plan.json'), 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new NotKeptError(
      `the run ${id} cannot be read in ${experiments} (${code ?? 'plan.json is invalid JSON'})`,
      { cause: error },
    )
  }
  if (!isKeptPlan(kept)) throw new NotKeptError(`plan.json of the run ${id} is not a valid plan`)
  return { read: await readStored(kept, production, policy), kept }
}

export function isKeptPlan(value: unknown): value is KeptPlan {
  const { file, directory, text, files } = fieldsOf(value)
  return (
    [file, directory, text].every((each) => typeof each === 'string') &&
    isRecord(files) &&
    Object.values(files).every((each) => typeof each === 'string')
  )
}

/** Reads a stored plan again. */
export function readStored(
  { file, directory, text, files }: KeptPlan,
  production?: ProductionCheck,
  policy?: Policy,
): Promise<ReadPlan> {
  const readText = async (path: string): Promise<string> => {
    const found = files[path]
    if (found === undefined) throw new NotKeptError(`${path} was not stored with the run`)
    return found
  }
  return readPlan(text, { production, policy, file, directory, readText })
}
