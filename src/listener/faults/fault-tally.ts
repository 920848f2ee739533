/** The injections of one fault into one tool. */
export interface InjectedInto {
  readonly tool: string
  readonly fault: string
  readonly effect: string | undefined
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly last: number
}

/** Further pairs of tool and fault are not counted. */
const MAX_PAIRS = 1_000

/** Counts injections by tool, fault and effect. */
export class FaultTally {
  readonly #pairs = new Map<string, { -readonly [K in keyof InjectedInto]: InjectedInto[K] }>()

  add(tool: string, fault: string, effect: string | undefined, at: number): void {
    const key = `${fault}\n${effect ?? ''}\n${tool}`
    const known = this.#pairs.get(key)
    if (known !== undefined) {
      known.count++
      known.last = at
    } else if (this.#pairs.size < MAX_PAIRS) {
      this.#pairs.set(key, { tool, fault, effect, count: 1, last: at })
    }
  }

  list(): readonly InjectedInto[] {
    return [...this.#pairs.values()]
  }
}
