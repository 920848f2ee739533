import type { LoadResult } from '../load/results/result.ts'

/** A run with its title in the report. */
export interface TitledRun {
  readonly title: string
  readonly about?: string
  readonly result: LoadResult
}

export interface ReportAbout {
  readonly title?: string
  /** Sentences that the results do not contain, the most important first. */
  readonly notes?: readonly string[]
}

/** Titles a single run by its server. */
export function soleRun(result: LoadResult): readonly TitledRun[] {
  return [{ title: result.run.server, result }]
}
