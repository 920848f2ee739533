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

/** Keeps the reasons that disarm rules. Rules act when there is none. */
export class Arming {
  readonly #states: RuleStates
  readonly #clock: () => number
  readonly #onChange: (reasons: readonly Disarmed[]) => void
  readonly #reasons = new Map<DisarmedBy, Disarmed>()

  constructor(
    states: RuleStates,
    clock: () => number,
    onChange: (reasons: readonly Disarmed[]) => void = () => undefined,
  ) {
    this.#states = states
    this.#clock = clock
    this.#onChange = onChange
  }

  /** The reasons that disarm rules; empty while they may act. */
  get reasons(): readonly Disarmed[] {
    return [...this.#reasons.values()]
  }

  get armed(): boolean {
    return this.#reasons.size === 0
  }

  has(by: DisarmedBy): boolean {
    return this.#reasons.has(by)
  }

  /** No rule acts until this is lifted; what waits on behalf of one wakes up. */
  disarm(by: DisarmedBy, reason: string): void {
    const known = this.#reasons.get(by)
    if (known?.reason === reason) return
    this.#reasons.set(by, { by, reason, at: known?.at ?? this.#clock() })
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
