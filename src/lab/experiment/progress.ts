import type { Breach } from './abort-watch.ts'
import type { End } from './phase.ts'
import type { Measured } from './gate.ts'

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
