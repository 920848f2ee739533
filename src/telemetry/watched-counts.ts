import { Counts } from './series.ts'
import { toolLabel } from './tool-label.ts'

/** Further tools are counted as `other`. */
const MAX_SERIES = 200

type FalsifiedLabels = { readonly rule: string; readonly tool: string; readonly verdict: string }

/** Counts what faults put into results, and agents then used. */
export class WatchedCounts {
  readonly #canaryCalls = new Counts('squall_canary_calls_total', MAX_SERIES)
  readonly #falsified = new Counts<FalsifiedLabels>('squall_falsified_total', 10 * MAX_SERIES)
  readonly #falseUses = new Counts('squall_falsified_used_total', MAX_SERIES)

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

  /** The results with false values by verdict. */
  get verdicts(): Readonly<Record<string, number>> {
    const found: Record<string, number> = {}
    for (const { labels, value } of this.#falsified)
      found[labels.verdict] = (found[labels.verdict] ?? 0) + value
    return found
  }

  /** The calls that used a false value. */
  get falseUses(): number {
    return [...this.#falseUses].reduce((sum, { value }) => sum + value, 0)
  }

  sources() {
    return {
      squall_canary_calls_total: this.#canaryCalls,
      squall_falsified_total: this.#falsified,
      squall_falsified_used_total: this.#falseUses,
    } as const
  }
}
