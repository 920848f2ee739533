import type { LoadResult } from '../load/results/result.ts'
import type { Screen } from './screen.ts'
import type { Stage } from './stage.ts'

/** Something that was looked at, and whether it was as it should be. */
export interface Check {
  readonly what: string
  readonly ok: boolean
}

/** A load of the demo, for the table at its end and for the report. */
export interface DemoRun {
  /** The name of its column: up to 11 characters. */
  readonly column: string
  readonly about: string
  readonly result: LoadResult
  /** The number of injections by the sidecar's counters. */
  readonly faults: number
}

/** A line of the end screen. */
export interface Summary {
  readonly ok: boolean
  /** Up to 10 characters. */
  readonly word: string
  /** Up to 65 characters. */
  readonly text: string
}

/** The result of a phase. */
export interface PhaseResult {
  /** Every number of it, for `--json`. */
  readonly numbers: Readonly<Record<string, unknown>>
  readonly checks: readonly Check[]
  /** The lines for the end screen; a load has a column there instead. */
  readonly summary?: readonly Summary[]
  readonly run?: DemoRun
}

/** One part of the demo. */
export interface Phase {
  /** Its key in `--json`. */
  readonly key: string
  readonly title: string
  run(stage: Stage, screen: Screen): Promise<PhaseResult>
}
