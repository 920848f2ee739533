import type { PlacedName } from '../../rules/guard/production-names.ts'
import type { Arming } from './arming.ts'
import type { StageResult } from './experiment-result.ts'
import type { HistoryEntry } from './history.ts'
import type { End } from './phase.ts'
import type { Means } from './phase-load.ts'
import type { Plan } from './plan.ts'
import type { Probe } from './probe.ts'
import type { Steadiness } from './steadiness.ts'
import type { Breach } from './abort-watch.ts'
import type { Measured } from './gate.ts'

/** Configures a run of an experiment. */
export interface ExperimentOptions extends Means {
  readonly plan: Plan
  /** Where locks are. */
  readonly stateDirectory: string
  /** Aborted by Ctrl-C: everything is put back at once. */
  readonly stop: AbortSignal
  readonly onEvent: (event: ExperimentEvent) => void
  /** Reads the environment that a namespace is labelled with; undefined where it cannot be read. */
  readonly namespaceLabel?: (namespace: string) => Promise<PlacedName | undefined>
  /** Earlier runs, the oldest first. */
  readonly past: readonly HistoryEntry[]
  /** The time that the sidecar may take to read new rules. */
  readonly inForceMs?: number
  /** The run that this one repeats. */
  readonly again?: string
}

/** The context that the parts of an experiment share. */
export interface Context extends ExperimentOptions {
  readonly id: string
  readonly arming: Arming
  readonly probe: Probe | undefined
  readonly steadiness: Steadiness
  readonly names: readonly string[]
  /** The tools that all phases call; undefined before the first one has chosen them. */
  readonly called?: readonly string[]
}

/** The results of the stages. */
export interface Stages {
  readonly results: readonly StageResult[]
  readonly end: (End & { readonly stage: string | null }) | undefined
  /** From the end seen to the rules put back. */
  readonly rollbackMs: number | null
}

/** The events that are reported while an experiment runs. */
export type ExperimentEvent =
  | { readonly kind: 'note'; readonly text: string }
  | {
      readonly kind: 'phase'
      readonly label: string
      /** The stage's place and how many there are; undefined before and after. */
      readonly stage?: { readonly index: number; readonly count: number }
      readonly durationMs: number
    }
  | {
      readonly kind: 'moment'
      readonly elapsedMs: number
      readonly durationMs: number
      readonly calls: number
      readonly measured: Measured
      readonly applied: number | undefined
    }
  | { readonly kind: 'phase-over'; readonly label: string; readonly text: string }
  | { readonly kind: 'seen'; readonly end: End; readonly breach: Breach | undefined }
  | { readonly kind: 'rolled-back'; readonly restored: boolean }
