import { Counts } from './series.ts'
import { toolLabel } from './text-format.ts'

/** Further tools are counted as `other`. */
const MAX_SERIES = 200

type FalsifiedLabels = {
  readonly rule: string
  readonly tool: string
  readonly verdict: string
}
type FalseUseLabels = { readonly tool: string; readonly hint: string }

/** Counts what faults put into results, and agents then used. */
export class WatchedCounts {
  readonly #canaryCalls = new Counts('squall_canary_calls_total', MAX_SERIES)
  readonly #falsified = new Counts<FalsifiedLabels>('squall_falsified_total', 10 * MAX_SERIES)
  readonly #falseUses = new Counts<FalseUseLabels>('squall_falsified_used_total', MAX_SERIES)

  /** Counts a message with the canary of a poisoned result; undefined for one of no tool. */
  canaryReturned(tool: string | undefined): void {
    this.#canaryCalls.add({ tool: toolLabel(tool ?? '') })
  }

  /** Counts what became of a result with false values. */
  falsified({ rule, tool, verdict }: FalsifiedLabels): void {
    this.#falsified.add({ rule, tool: toolLabel(tool), verdict })
  }

  /** Counts a call whose arguments hold a false value, blocked or not. */
  usedFalse(tool: string | undefined, hint: string): void {
    this.#falseUses.add({ tool: toolLabel(tool ?? ''), hint })
  }

  /** The results with false values, and the calls that used one. */
  get lies() {
    return { falsified: [...this.#falsified], falseUses: [...this.#falseUses] }
  }

  sources() {
    return {
      squall_canary_calls_total: this.#canaryCalls,
      squall_falsified_total: this.#falsified,
      squall_falsified_used_total: this.#falseUses,
    } as const
  }
}
