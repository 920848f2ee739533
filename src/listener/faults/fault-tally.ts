/** The injections of one fault into one tool. */
export interface InjectedInto {
  readonly tool: string
  readonly fault: string
  readonly effect: string | undefined
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly last: number
}

type Writable = { -readonly [K in keyof InjectedInto]: InjectedInto[K] }

/** Further tools, and further faults of a tool, are not counted. */
const MAX_TOOLS = 200
const MAX_FAULTS = 20

/** Counts injections by tool, fault and effect, without an allocation for those that are known. */
export class FaultTally {
  readonly #tools = new Map<string, Writable[]>()

  add(tool: string, fault: string, effect: string | undefined, at: number): void {
    let faults = this.#tools.get(tool)
    if (faults === undefined) {
      if (this.#tools.size >= MAX_TOOLS) return
      this.#tools.set(tool, (faults = []))
    }
    for (const known of faults) {
      if (known.fault !== fault || known.effect !== effect) continue
      known.count++
      known.last = at
      return
    }
    if (faults.length < MAX_FAULTS) faults.push({ tool, fault, effect, count: 1, last: at })
  }

  list(): readonly InjectedInto[] {
    return [...this.#tools.values()].flat()
  }
}
