import type { Rule, State } from '#admin-api'
import type { LoadTarget } from '../load/load-options.ts'
import type { LockHolder } from './lock.ts'
import type { ServerProcesses } from './monitor/server-processes.ts'
import type { Previous } from './rules-file.ts'

export interface SidecarState extends State {
  /**
   * The milliseconds by which the clock of the sidecar is ahead; 0 within the precision of the
   * `Date` header.
   */
  readonly aheadMs: number
}

/** The counts of a rule, or of several. */
export interface Totals {
  readonly matched: number
  readonly sampled: number
  readonly applied: number
  /** The matched calls of which the share was to be sampled. */
  readonly considered: number
}

/** The counts of rules by name; each sidecar has its own. */
export type Counts = readonly (readonly [string, Totals])[]

export function totalsOf({ counts }: Pick<Rule, 'counts'>): Totals {
  const { matched = 0, sampled = 0, injected: applied = 0, not_sampled: others = 0 } = counts
  return { matched, sampled, applied, considered: sampled + others }
}

export function sumOf(counts: Counts): Totals {
  const sum = { matched: 0, sampled: 0, applied: 0, considered: 0 }
  for (const [, each] of counts) {
    for (const key of Object.keys(sum) as (keyof Totals)[]) sum[key] += each[key]
  }
  return sum
}

/** The rules that an experiment replaces. */
export interface ReplacedRules {
  /** The previous file, which a later experiment of this machine restores if this process dies. */
  readonly backup: { readonly path: string; readonly previous: Previous } | undefined
  /**
   * Replaces the rules. The digest is that of the text; the sidecars report it when the rules are
   * active. Throws a `RulesChangedError` when another program has changed the rules, and an
   * `AdminError` when a later attempt may succeed.
   */
  write(text: string, digest: string, appliedAt: number): Promise<void>
  /** Restores the previous content; false when another program has changed the rules. */
  restore(): Promise<boolean>
}

/** The killing of what a plan names, at the start of each stage. */
export interface Killing {
  /** Throws a `RejectedError` when there is nothing to kill. */
  check(): Promise<unknown>
  /** Kills for a stage, and tries for a time where that is blocked. Throws a `RejectedError`. */
  kill(stage: number, withinMs: number, signal: AbortSignal): Promise<Killed>
}

export interface Killed {
  /** Names the killed process or pods. */
  readonly what: string
  /** Waits for the successor and describes it; undefined after the time limit. */
  readonly successor: (withinMs: number, signal: AbortSignal) => Promise<string | undefined>
}

/** The sidecars that an experiment arms. Requests throw an `AdminError`. */
export interface Sidecars {
  /** What the load asks: admin ports for injected faults, and all sidecars for tasks of agents. */
  readonly forLoad: Required<Pick<LoadTarget, 'sidecars' | 'readTasks'>>
  /** Names what holds the rules, and the setting of the plan that leads to it, for messages. */
  readonly rulesSource: { readonly name: string; readonly setting: string }
  readonly paces: {
    /** The time limit for activating new rules, and the pause between two looks meanwhile. */
    readonly activationMs: number
    readonly activationPollMs: number
    /** The least time between two looks during a phase. */
    readonly pollMs: number
    /**
     * The number of renewals that a sidecar may lag behind, and still has the rules of the
     * experiment.
     */
    readonly versions: number
    /** The time without a response after which the sidecars are lost. */
    readonly lostMs: number
  }
  /** The number of ready pods at the last look; undefined without pods. */
  readonly ready: number | undefined
  readonly killing: Killing | undefined
  /** Returns the states of all sidecars that should have the rules. */
  states(signal?: AbortSignal): Promise<readonly SidecarState[]>
  /** Returns true when the guard of a sidecar has disarmed it. */
  isGuarded(): Promise<boolean>
  /** Returns the active rules of all sidecars. */
  rules(signal?: AbortSignal): Promise<readonly Rule[]>
  /** Returns the counts of rules since the last `write` with another `appliedAt`. */
  counts(names: ReadonlySet<string>, signal?: AbortSignal): Promise<Counts>
  readonly processes: ServerProcesses
  /** Restores the rules of an experiment whose process died; returns its id. */
  recover(dead: LockHolder | undefined): Promise<string | undefined>
  /** Reads the rules to replace. Throws a `RejectedError` when they may not be replaced. */
  open(id: string): Promise<ReplacedRules>
}
