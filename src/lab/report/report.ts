import type { LoadResult } from '../load/results/result.ts'

/** A run with what it is called beside others. */
export interface TitledRun {
  readonly title: string
  /** What was different in this run, in a sentence. */
  readonly about?: string
  readonly result: LoadResult
}

/** What a report is about beside its runs. */
export interface ReportAbout {
  readonly title?: string
  /** What only the one who ran it can know, a sentence each; the first one says most. */
  readonly notes?: readonly string[]
}

/** One run alone, under the name of its server. */
export function soleRun(result: LoadResult): readonly TitledRun[] {
  return [{ title: result.run.server, result }]
}
