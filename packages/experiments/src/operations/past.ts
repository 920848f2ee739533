import { plain } from '#base'
import type { EXPERIMENT_COMPARE, EXPERIMENT_SHOW } from '../commands/past-experiments.ts'
import { comparedRuns, comparisonTables, compareResults } from '../experiment/compare.ts'
import { noteLines, resultTables } from '../experiment/experiment-report.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import { findRun, PastRunError, readPastResult } from '../experiment/history.ts'
import { textTable } from '../report/text-table.ts'
import { writeReport } from '../report/write-report.ts'
import { invalidFile, print, type RequestOf, writeText } from '#cli'

/** Returns the id of a past run. Throws a `UsageError` when there is no such run. */
export function pastId(experiments: string, begin: string): Promise<string> {
  return readPast(findRun(experiments, begin))
}

/** Prints the result of a past run. */
export async function showExperiment({
  id,
  experiments,
  json,
}: RequestOf<typeof EXPERIMENT_SHOW>): Promise<number> {
  const result = await pastResult(experiments, id)
  if (json) {
    await print(`${JSON.stringify(result)}\n`)
    return 0
  }
  const { name, startedAt, target, server, squall } = result
  const head = `${name}, run ${result.id}, started ${startedAt}\n${target}, server ${server ?? 'unknown'}, Squall ${squall}`
  const lines = [...head.split('\n'), ...noteLines(result)].map((line) => plain(line))
  const tables = resultTables(result).map((table) => textTable(table))
  await print([`${lines.join('\n')}\n`, ...tables.filter((text) => text !== '')].join('\n'))
  return 0
}

/** Compares past runs side by side. */
export async function compareExperiments({
  ids,
  experiments,
  report,
  json,
}: RequestOf<typeof EXPERIMENT_COMPARE>): Promise<number> {
  const results: ExperimentResult[] = []
  for (const id of ids) results.push(await pastResult(experiments, id))
  const comparison = compareResults(results)
  const tables = comparisonTables(comparison)
  if (report !== undefined) {
    const runs = comparedRuns(results)
    if (runs.length === 0) {
      throw invalidFile('--report: no run has a load to show', 'compare other runs')
    }
    await writeText(
      report,
      '--report',
      writeReport(runs, { title: 'Experiments, compared', tables }),
    )
  }
  const text = json
    ? `${JSON.stringify(comparison)}\n`
    : tables.map((table) => textTable(table)).join('\n')
  await print(text)
  return 0
}

async function pastResult(experiments: string, begin: string): Promise<ExperimentResult> {
  return readPast(readPastResult(experiments, await pastId(experiments, begin)))
}

/** Throws a `UsageError` in the place of a `PastRunError`. */
export async function readPast<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof PastRunError)) throw error
    throw invalidFile(error.message, error.fix)
  }
}
