import type { Screen } from './screen.ts'
import type { Stage } from './stage.ts'

/** Something that was looked at, and whether it was as it should be. */
export interface Check {
  readonly what: string
  readonly ok: boolean
}

/** What a phase found. */
export interface PhaseResult {
  /** Every number of it, for `--json`. */
  readonly numbers: Readonly<Record<string, unknown>>
  readonly checks: readonly Check[]
  /** What stays with a reader at the end: up to two lines of at most 60 characters. */
  readonly summary: readonly string[]
}

/** One part of the demo. */
export interface Phase {
  /** Its key in `--json`. */
  readonly key: string
  readonly title: string
  /** One word for the end screen. */
  readonly word: string
  run(stage: Stage, screen: Screen): Promise<PhaseResult>
}
