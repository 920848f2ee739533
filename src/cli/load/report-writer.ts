import type { LoadResult } from '../../lab/load/results/result.ts'
import { writeText } from './load-files.ts'

/** Writes the result of a load as a page for people. */
export type WriteReport = (path: string, result: LoadResult) => Promise<void>

/** Loads what writes reports: only who wants one pays for it. */
export async function reportWriter(): Promise<WriteReport> {
  const { writeReport } = await import('../../lab/report/write-report.ts')
  return (path, result) => writeText(path, '--report', writeReport(result))
}
