import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { type PlanSource, readPlan, type ReadPlan } from './read-plan.ts'

/** A plan with all its files, so that the run can be repeated exactly. */
export interface KeptPlan {
  readonly file: string
  readonly directory: string
  readonly text: string
  /** The files that the plan names, by path. */
  readonly files: Readonly<Record<string, string>>
}

/** Reports that no run with this id was kept, or that it cannot be read. */
export class NotKeptError extends Error {
  override readonly name = 'NotKeptError'
}

/** Reads a plan and keeps its files. */
export async function readAndKeep(
  file: string,
  text: string,
  readText: PlanSource['readText'],
  production?: ProductionCheck,
): Promise<{ readonly read: ReadPlan; readonly kept: KeptPlan }> {
  const directory = dirname(resolve(file))
  const files: Record<string, string> = {}
  const read = await readPlan(text, {
    ...(production && { production }),
    file,
    directory,
    readText: async (path) => {
      const found = await readText(path)
      files[path] = found
      return found
    },
  })
  return { read, kept: { file, directory, text, files } }
}

/** Reads the kept plan of an earlier run. Throws a `NotKeptError`. */
export async function readKept(
  experiments: string,
  id: string,
  production?: ProductionCheck,
): Promise<{ readonly read: ReadPlan; readonly kept: KeptPlan }> {
  if (!/^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$/.test(id)) {
    throw new NotKeptError('that is no id of a run; squall experiment list shows them')
  }
  let kept: KeptPlan
  try {
    kept = JSON.parse(await readFile(join(experiments, id, 'plan.json'), 'utf8')) as KeptPlan
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new NotKeptError(
      `the run ${id} is not kept in ${experiments} (${code ?? 'plan.json is no JSON'})`,
      { cause: error },
    )
  }
  const { file, directory, text, files } = kept
  const read = await readPlan(text, {
    ...(production && { production }),
    file,
    directory,
    readText: async (path) => {
      const found = files[path]
      if (found === undefined) throw new NotKeptError('it was not kept')
      return found
    },
  })
  return { read, kept }
}
