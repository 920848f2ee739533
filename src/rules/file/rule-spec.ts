import type { FaultUse } from '../../filters/index.ts'
import type { MatchSpec } from './match-spec.ts'
import type { StickyBy } from '../select/selection.ts'

/** One validated rule: with defaults, durations in milliseconds, shares in percent. */
export interface RuleSpec {
  readonly name: string
  readonly match?: MatchSpec | undefined
  readonly percent?: number | undefined
  readonly probability?: number | undefined
  readonly first?: number | undefined
  readonly after?: number | undefined
  readonly every?: number | undefined
  readonly times?: number | undefined
  readonly burst?: { readonly rate: number; readonly length: number } | undefined
  readonly episode?: { readonly tasks: number; readonly of: number } | undefined
  readonly stickyBy?: StickyBy | undefined
  readonly shareSamples?: boolean | undefined
  readonly from?: number | undefined
  readonly until?: number | undefined
  readonly for?: number | undefined
  readonly repeat?: number | undefined
  /** The time that `for`, `ramp` and `stages` count from, in milliseconds since the epoch. */
  readonly appliedAt?: number | undefined
  readonly ramp?: { readonly to: number; readonly over: number } | undefined
  readonly stages?: readonly number[] | undefined
  readonly each?: number | undefined
  readonly pods?: number | undefined
  readonly maxActive?: number | undefined
  readonly then?: 'stop' | undefined
  readonly enabled?: boolean | undefined
  readonly dryRun?: boolean | undefined
  readonly marker?: boolean | undefined
  readonly faults: readonly FaultUse[]
}

/** A file's validated rules. */
export interface RuleFileSpec {
  readonly seed?: number | string | undefined
  readonly enabled?: boolean | undefined
  readonly maxActive?: number | undefined
  readonly rules: readonly RuleSpec[]
}
