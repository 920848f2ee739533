import { print, type RequestOf, writeText } from '#cli'
import type { LOAD_MERGE, ReportRequest } from '../commands/report.ts'
import { LoadError } from '../load/load-error.ts'
import { Histogram } from '../load/results/histogram.ts'
import { mergeResults, parseResult } from '../load/results/merge-results.ts'
import type { LoadResult } from '../load/results/result.ts'
import { loadTable } from '../report/load-table.ts'
import { readAs, usable } from './read-input.ts'

const MAX_RESULT = 256 * 1024 * 1024

/** Shows results of loads side by side; returns the exit code. */
export async function showResults({ markdown, runs, out, title }: ReportRequest): Promise<number> {
  const titled = []
  for (const { file, title: name } of runs) {
    const result = await readAs(file, 'report', MAX_RESULT, (text) => shownResult(text, file))
    titled.push({ title: name, result })
  }
  const write = markdown
    ? (await import('../report/markdown.ts')).reportMarkdown
    : (await import('../report/write-report.ts')).writeReport
  await writeText(out, '--out', write(titled, title === undefined ? {} : { title }))
  return 0
}

/** Merges the results of shards; returns the exit code. */
export async function mergeShards({ files, out }: RequestOf<typeof LOAD_MERGE>): Promise<number> {
  const results: LoadResult[] = []
  for (const file of files) {
    results.push(await readAs(file, 'merge', MAX_RESULT, (text) => parseResult(text, file)))
  }
  const merged = usable(() => mergeResults(results))
  await writeText(out, '--out', `${JSON.stringify(merged)}\n`)
  if (out !== undefined) await print(loadTable(merged, process.stdout))
  return merged.slo.every(({ ok }) => ok) ? 0 : 1
}

/** Reads a result whose latencies are shown. */
function shownResult(text: string, file: string): LoadResult {
  const result = parseResult(text, file)
  try {
    Histogram.from(result.latency.histogram)
  } catch {
    throw new LoadError(
      'INVALID_INPUT',
      `${file} contains an invalid latency histogram`,
      'pass files written by squall load --out',
    )
  }
  return result
}
