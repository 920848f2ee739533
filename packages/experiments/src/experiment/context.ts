import type { SourcedName } from '#rules'
import type { Arming } from './arming.ts'
import type { AlertWatch } from './monitor/alert-watch.ts'
import type { Samplers } from './monitor/samplers.ts'
import type { EarlyEnd, StageResult } from './experiment-result.ts'
import type { LoadTarget } from '../load/load-options.ts'
import type { Timeline } from '../load/results/result.ts'
import type { HistoryEntry } from './history.ts'
import type { Plan } from './plan.ts'
import type { Probe } from './probe.ts'
import type { Measured, Steadiness } from './gate.ts'
import type { Sidecars } from './sidecars.ts'

export interface ExperimentOptions {
  readonly plan: Plan
  readonly sidecars: Sidecars
  readonly version: string
  /** Headers of every request; never stored. */
  readonly headers: Readonly<Record<string, string>>
  /** The directory of locks. */
  readonly stateDirectory: string
  /** Aborted by Ctrl-C: the rules file is restored at once. */
  readonly stop: AbortSignal
  readonly onEvent: (event: ExperimentEvent) => void
  /** Called once the experiment may begin; rejects to prevent it. */
  readonly onBegin?: () => Promise<void>
  /** Reads the environment label of a namespace; undefined when the label cannot be read. */
  readonly namespaceLabel?: (namespace: string) => Promise<SourcedName | undefined>
  readonly past: readonly HistoryEntry[]
  readonly again?: string
  /** Headers of requests to monitoring systems; never stored. */
  readonly monitorHeaders?: Readonly<Record<string, string>> | undefined
  /** The time without a response after which the monitoring is lost. */
  readonly monitorLostMs?: number
  /** Ends a stage by its counts; called ten times a second. */
  readonly endEarly?: (timeline: () => Timeline) => EarlyEnd | undefined
}

export interface Context extends ExperimentOptions {
  readonly id: string
  readonly arming: Arming
  /** The target of requests besides the load. */
  readonly target: LoadTarget
  /** The tools that the first phase has chosen when the plan names none. */
  readonly called?: readonly string[]
  /** Undefined when the load itself is measured. */
  readonly probe: Probe | undefined
  readonly steadiness: Steadiness
  readonly alerts: AlertWatch
  readonly samplers: Samplers
}

export interface Stages {
  readonly results: readonly StageResult[]
  readonly end: (EarlyEnd & { readonly stage: string | null }) | undefined
  /** The milliseconds from the detected end until the rules were restored. */
  readonly rollbackMs: number | null
}

export type ExperimentEvent =
  | { readonly kind: 'note'; readonly text: string }
  | {
      readonly kind: 'phase'
      readonly label: string
      /** The index and the number of stages; undefined before and after the stages. */
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
  | { readonly kind: 'seen'; readonly end: EarlyEnd }
  | { readonly kind: 'rolled-back'; readonly restored: boolean }
