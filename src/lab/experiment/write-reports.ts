import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TitledRun } from '../report/report-table.ts'
import { writeReport } from '../report/write-report.ts'
import { experimentMarkdown, noteLines } from './experiment-text.ts'
import type { ExperimentResult } from './experiment-result.ts'
import type { KeptPlan } from './kept-plan.ts'

/** Writes the reports of a run to a new directory and returns its path. */
export async function writeReports(
  experiments: string,
  result: ExperimentResult,
  kept: KeptPlan,
): Promise<string> {
  const directory = join(experiments, result.id)
  await mkdir(directory, { recursive: true })
  const runs = runsOf(result)
  const title = `${result.name}: ${result.verdict}`
  const files: [string, string][] = [
    ['report.json', `${JSON.stringify(result)}\n`],
    ['report.md', experimentMarkdown(result)],
    ['plan.json', `${JSON.stringify(kept, null, 2)}\n`],
  ]
  if (runs.length > 0) {
    files.push(['report.html', writeReport(runs, { title, notes: noteLines(result) })])
  }
  for (const [name, text] of files) await writeFile(join(directory, name), text)
  return directory
}

function runsOf({ before, stages, after }: ExperimentResult): readonly TitledRun[] {
  const phases = [
    { ...before, label: 'Before' },
    ...stages.map((stage) => ({ ...stage, label: `Stage ${stage.label}` })),
    ...(after === null ? [] : [{ ...after, label: 'After' }]),
  ]
  return phases.flatMap(({ label, load }) =>
    load === undefined ? [] : [{ title: label, result: load }],
  )
}
