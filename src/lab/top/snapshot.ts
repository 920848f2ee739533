/** How many, by who made it so. */
export interface ByOrigin {
  readonly upstream: number
  readonly injected: number
  readonly squall: number
}

/** One rule of a sidecar, and what became of its calls since this version of it. */
export interface Rule {
  readonly name: string
  readonly faults: readonly string[]
  readonly builtIn: boolean
  readonly shadow: boolean
  readonly phase: 'on' | 'not_yet' | 'expired' | 'other_pod'
  /** Of the calls, or null where each call asks for itself. */
  readonly percent: number | null
  readonly hits: number
  readonly active: number
  readonly matched: number
  readonly applied: number
}

/** The calls of one tool since the start; no name stands for all other methods. */
export interface Tool {
  readonly tool: string
  readonly calls: ByOrigin
  readonly errors: ByOrigin
}

/** One fault that took effect. */
export interface Fault {
  readonly at: string
  readonly rule: string
  readonly fault: string
  /** The tool, or the method, or nothing for HTTP without a call. */
  readonly called: string
  readonly id: string
  readonly session: string
  readonly effect: string
  readonly delayMs: number | null
}

/** Why no rule acts. */
export interface Reason {
  readonly by: string
  readonly reason: string
  readonly at: string
}

/** What became of the version of the rules that was found last. */
export interface Reload {
  readonly result: string
  readonly at: string
  /** The first mistake, with its place; or why there are no rules. */
  readonly problem: string
  readonly problemCount: number
}

/** What a sidecar told at one moment: checked, bounded, and with nothing that a terminal obeys. */
export interface Snapshot {
  /** Milliseconds since the epoch, as the sidecar's clock has it. */
  readonly at: number | undefined
  readonly version: string
  readonly environment: string
  readonly canChange: boolean
  readonly armed: boolean
  readonly reasons: readonly Reason[]
  readonly shadow: boolean
  readonly activeFaults: number
  readonly digest: string
  readonly generation: number
  readonly ruleCount: number
  readonly lastReload: Reload | undefined
  readonly rules: readonly Rule[]
  readonly tools: readonly Tool[]
  readonly faults: {
    /** Whether these are all that are kept, and not only what is new. */
    readonly whole: boolean
    readonly total: number
    readonly list: readonly Fault[]
  }
}
