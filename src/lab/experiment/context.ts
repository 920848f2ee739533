import type { PlacedName } from '../../rules/guard/production-names.ts'
import type { Arming } from './arming.ts'
import type { StageResult } from './experiment-result.ts'
import type { HistoryEntry } from './history.ts'
import type { End } from './phase.ts'
import type { Means } from './phase-load.ts'
import type { Plan } from './plan.ts'
import type { Probe } from './probe.ts'
import type { ExperimentEvent } from './progress.ts'
import type { Steadiness } from './steadiness.ts'

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
