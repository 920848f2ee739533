import type { RuleStates } from '../select/rule-states.ts'

/**
 * Names who disarmed: the environment that must never be touched, an operator, the guard, a
 * condition of `--rollback-on`, the stop key beside the rules, or the end of the process.
 */
export type DisarmedBy =
  'environment' | 'operator' | 'guard' | 'rollback-on' | 'stopped' | 'draining'

/** One reason why no rule acts. */
export interface Disarmed {
  readonly by: DisarmedBy
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

const TRIPS: ReadonlySet<DisarmedBy> = new Set<DisarmedBy>(['guard', 'rollback-on'])
const MAX_TRIPS = 20

/** Keeps why rules may not act. They act when nothing speaks against it. */
export class Arming {
  readonly #states: RuleStates
  readonly #clock: () => number
  readonly #onChange: (reasons: readonly Disarmed[]) => void
  readonly #reasons = new Map<DisarmedBy, Disarmed>()
  #trips: readonly Disarmed[] = []

  constructor(
    states: RuleStates,
    clock: () => number,
    onChange: (reasons: readonly Disarmed[]) => void = () => undefined,
  ) {
    this.#states = states
    this.#clock = clock
    this.#onChange = onChange
  }

  /** Everything that speaks against acting; empty while rules may act. */
  get reasons(): readonly Disarmed[] {
    return [...this.#reasons.values()]
  }

  get armed(): boolean {
    return this.#reasons.size === 0
  }

  /** The last times that the guard or a condition of `--rollback-on` disarmed, oldest first. */
  get trips(): readonly Disarmed[] {
    return this.#trips
  }

  /** True while this is among what speaks against it. */
  has(by: DisarmedBy): boolean {
    return this.#reasons.has(by)
  }

  /** No rule acts until this is lifted; what waits on behalf of one wakes up. */
  disarm(by: DisarmedBy, reason: string): void {
    if (this.#reasons.has(by)) return
    const disarmed = { by, reason, at: this.#clock() }
    this.#reasons.set(by, disarmed)
    if (TRIPS.has(by)) this.#trips = [...this.#trips, disarmed].slice(-MAX_TRIPS)
    this.#apply()
  }

  /** Takes one reason away; true when it was there. */
  lift(by: DisarmedBy): boolean {
    if (!this.#reasons.delete(by)) return false
    this.#apply()
    return true
  }

  #apply(): void {
    const [first] = this.#reasons.values()
    if (first === undefined) this.#states.arm()
    else this.#states.disarm(first.reason)
    this.#onChange(this.reasons)
  }
}
