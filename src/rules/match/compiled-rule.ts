import type { FaultName, FaultUse } from '../../filters/index.ts'
import type { Fault } from '../../filters/fault.ts'
import type { MatchNode } from './match-node.ts'
import type { Direction, MatchTest } from './match-test.ts'
import type { PodMismatch } from './pod-match.ts'
import type { RuleHashes, Selection } from '../select/selection.ts'

export interface CompiledRule {
  readonly name: string
  /** Its place in the file, from 0; negative for a rule that precedes the file. */
  readonly index: number
  /** The digest of the rule as written: an unchanged rule keeps its state over reloads. */
  readonly digest: string
  /** True for a rule about HTTP exchanges rather than calls. */
  readonly isHttp: boolean
  /** True for a rule about TCP connections to a dependency. */
  readonly isConnection: boolean
  readonly direction: Direction
  /** Why the rule does not apply to this pod; empty when it does. Others are tested for no call. */
  readonly elsewhere: readonly PodMismatch[]
  /** When it was applied, in milliseconds since the epoch; undefined when nobody wrote that. */
  readonly appliedAt: number | undefined
  readonly match: MatchNode
  /** The match's own lists, at hand for the hot path. */
  readonly tests: readonly MatchTest[]
  readonly rest: readonly MatchTest[]
  readonly selection: Selection
  readonly hashes: RuleHashes
  readonly uses: readonly FaultUse[]
  /** Parallel to `uses`. */
  readonly faults: readonly Fault[]
  /** False when the file disables the rule: no call is tested. */
  readonly enabled: boolean
  /** True for a rule of no file that was added while the process runs. */
  readonly temporary: boolean
  /** The fault for whose sake the limits keep the rule from ever acting. */
  readonly forbidden: FaultName | undefined
  readonly dryRun: boolean
  /** True when its injections carry the marker. */
  readonly marker: boolean
  /** Later rules are not considered for a call that this rule was sampled for. */
  readonly stop: boolean
}
