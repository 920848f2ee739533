import type { LoadResult } from '../load/results/result.ts'

/** A run with what it is called beside others. */
export interface TitledRun {
  readonly title: string
  /** A sentence about the difference between this run and the others. */
  readonly about?: string
  readonly result: LoadResult
}

/** The facts of a report beside its runs. */
export interface ReportAbout {
  readonly title?: string
  /** Sentences about facts that only the run itself knows, the most important first. */
  readonly notes?: readonly string[]
}

/** One run alone, under the name of its server. */
export function soleRun(result: LoadResult): readonly TitledRun[] {
  return [{ title: result.run.server, result }]
}
