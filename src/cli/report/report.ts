import { Histogram } from '../../lab/load/results/histogram.ts'
import { LoadError } from '../../lab/load/load-error.ts'
import { mergeResults, parseResult } from '../../lab/load/results/merge-results.ts'
import type { LoadResult } from '../../lab/load/results/result.ts'
import { reportMarkdown } from '../../lab/report/markdown.ts'
import type { TitledRun } from '../../lab/report/report-table.ts'
import { writeReport } from '../../lab/report/write-report.ts'
import { readAs, writeText } from '../files.ts'
import type { MergeRequest, ReportRequest } from '../commands/report.ts'

const MAX_RESULT = 256 * 1024 * 1024

/** Writes a report of the results in files of `squall load --out`. */
export async function reportCommand(
  { runs, out, title }: ReportRequest,
  form: 'html' | 'markdown',
): Promise<number> {
  const titled: TitledRun[] = []
  for (const { file, title: name } of runs) {
    const result = await readAs(file, form, MAX_RESULT, (text) => shownResult(text, file))
    titled.push({ title: name, result })
  }
  const write = form === 'html' ? writeReport : reportMarkdown
  const text = write(titled, title === undefined ? {} : { title })
  await writeText(out, '--out', text)
  return 0
}

/** Merges results; returns 1 when the merged result fails a gate. */
export async function mergeCommand({ files, out }: MergeRequest): Promise<number> {
  const results = []
  for (const file of files) {
    results.push(await readAs(file, 'merge', MAX_RESULT, (text) => parseResult(text, file)))
  }
  const merged = mergeResults(results)
  await writeText(out, '--out', `${JSON.stringify(merged)}\n`)
  return merged.slo.every(({ ok }) => ok) ? 0 : 1
}

function shownResult(text: string, file: string): LoadResult {
  const result = parseResult(text, file)
  try {
    Histogram.from(result.latency.histogram)
  } catch {
    throw new LoadError(
      'BAD_INPUT',
      `${file} has latencies that cannot be read`,
      'give files that squall load --out wrote',
    )
  }
  return result
}
