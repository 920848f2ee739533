import type { LoadResult } from '../load/results/result.ts'
import { integerText } from '#base'
import type { DemoScreen } from './screen.ts'
import type { Stage } from './stage.ts'

/** An expectation, and whether it was met. */
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
}

/** Returns the number of injections, by the markers of the responses. */
export function faultsSeen({ faults }: LoadResult): number {
  return faults.reduce((sum, { seen }) => sum + seen, 0)
}

/** A line of the end screen. */
export interface Summary {
  readonly ok: boolean
  /** Up to 10 characters. */
  readonly word: string
  /** Up to 65 characters. */
  readonly text: string
}

export interface PhaseResult {
  /** The numbers for `--json`. */
  readonly numbers: Readonly<Record<string, unknown>>
  readonly checks: readonly Check[]
  /** The lines for the end screen, where a load has a column instead. */
  readonly summary?: readonly Summary[]
  readonly run?: DemoRun
}

/** A part of the demo. */
export interface Phase {
  /** The key in `--json`. */
  readonly key: string
  readonly title: string
  run(stage: Stage, screen: DemoScreen): Promise<PhaseResult>
}

/** Formats milliseconds, below 10 with two decimals. */
export function millis(value: number): string {
  return Math.abs(value) < 10 ? value.toFixed(2) : integerText(value)
}
