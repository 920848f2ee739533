import { ActiveLimit } from './active-limit.ts'
import { BurstChain } from './burst.ts'
import { noCounts, type RuleCounts, type RuleResult } from './rule-counts.ts'
import { stickyKey } from './sticky-key.ts'
import type { Facts } from '../match/call-facts.ts'
import {
  isConsidered,
  ruleStart,
  type RuleHashes,
  type Selection,
  shareAt,
  windowEnd,
  windowStart,
} from './selection.ts'

/** The number by which sampled calls may exceed the highest share: enough for the first few calls. */
const HEAD_START = 10

/** The parts of a rule that decide whether it samples a call, besides its state. */
export interface SampledRule {
  readonly selection: Selection
  readonly hashes: RuleHashes
}

/** The result that the next matching call would get. */
export interface Forecast {
  readonly result: RuleResult | 'sampled'
  readonly ordinal: number
  /** The key that is hashed, and its sample from 0 to below 1; undefined when the rule does not get to sampling. */
  readonly key: string | undefined
  readonly sample: number | undefined
  /** The rule samples the call when the sample is below this. */
  readonly share: number
  /** The sample that moves the burst on, and the chance that it must be below. */
  readonly burst: { readonly sample: number; readonly chance: number } | undefined
}

/**
 * The state of a rule between calls. It belongs to the text of the rule: it survives a reload that leaves
 * the rule unchanged, and a changed rule begins with a new state.
 */
export class RuleState {
  readonly counts: RuleCounts = noCounts()
  readonly active: ActiveLimit
  readonly #burst: BurstChain | undefined
  #ordinal = 0
  #sampled = 0
  #retirement: AbortController | undefined
  readonly #memories = new Map<number, unknown>()
  #appliedAt: number | undefined
  #since: number

  constructor(selection: Selection, now: number, appliedAt?: number) {
    this.#appliedAt = appliedAt
    this.#since = ruleStart(appliedAt, now)
    this.active = new ActiveLimit(selection.maxActive)
    this.#burst = selection.burst === undefined ? undefined : new BurstChain(selection.burst)
  }

  /** When the rule was applied, as it was written; undefined when it was not. */
  get appliedAt(): number | undefined {
    return this.#appliedAt
  }

  /** The time that its durations count from, in milliseconds since the epoch. */
  get since(): number {
    return this.#since
  }

  /** Takes the time at which the rule was applied, where it was not known before. */
  anchor(appliedAt: number | undefined, now: number): void {
    if (appliedAt === undefined || this.#appliedAt !== undefined) return
    this.#appliedAt = appliedAt
    this.#since = ruleStart(appliedAt, now)
  }

  /** The number of matching calls while the rule was active. */
  get ordinal(): number {
    return this.#ordinal
  }

  /** The number of sampled calls, which `times` limits. */
  get sampled(): number {
    return this.#sampled
  }

  /** Aborted when the rule is taken back or disarmed, so that what waits for it wakes up. */
  get retired(): AbortSignal {
    return (this.#retirement ??= new AbortController()).signal
  }

  /** Returns the memory of the rule's fault at an index between calls. */
  memory<Memory>(fault: number, make: () => Memory): Memory {
    let memory = this.#memories.get(fault) as Memory | undefined
    if (memory === undefined) {
      memory = make()
      this.#memories.set(fault, memory)
    }
    return memory
  }

  /** The rule is gone, and with it what its faults remember. */
  close(): void {
    for (const memory of this.#memories.values()) (memory as { close?(): void }).close?.()
  }

  /** Returns the key by which a matching call is sampled, or undefined when it is not sampled. Counts either way. */
  sample(rule: SampledRule, facts: Facts, now: number): string | undefined {
    const { selection } = rule
    const refused = this.#outOfWindow(selection, now)
    if (refused !== undefined) return this.#refuse(refused)
    const ordinal = ++this.#ordinal
    if (this.#quotaUsed(selection)) return this.#refuse('quota_used')
    if (!isConsidered(selection, ordinal)) return this.#refuse('not_selected')
    if (this.#burst?.next(rule.hashes.burst.number(String(ordinal))) === false) {
      return this.#refuse('not_sampled')
    }
    const share = shareAt(selection, now - windowStart(selection, this.since))
    const key = stickyKey(selection.stickyBy, facts, ordinal)
    if (share < 1 && (share <= 0 || rule.hashes.share.number(key) >= share)) {
      return this.#refuse('not_sampled')
    }
    if (this.#isAhead(selection, ordinal)) return this.#refuse('forbidden')
    this.#sampled++
    this.counts.sampled++
    return key
  }

  /** Gives a sampled call that a concurrency limit turned away back to `times`. */
  giveBack(): void {
    this.#sampled--
  }

  /** Returns what `sample` would decide, and why; changes nothing. */
  forecast(rule: SampledRule, facts: Facts, now: number): Forecast {
    const { selection } = rule
    const ordinal = this.#ordinal + 1
    const share = shareAt(selection, now - windowStart(selection, this.since))
    const without = { ordinal, key: undefined, sample: undefined, share, burst: undefined }
    const refused = this.#outOfWindow(selection, now)
    if (refused !== undefined) return { ...without, result: refused, ordinal: this.#ordinal }
    if (this.#quotaUsed(selection)) return { ...without, result: 'quota_used' }
    if (!isConsidered(selection, ordinal)) return { ...without, result: 'not_selected' }
    const burst =
      this.#burst === undefined
        ? undefined
        : { sample: rule.hashes.burst.number(String(ordinal)), chance: this.#burst.chance }
    const key = stickyKey(selection.stickyBy, facts, ordinal)
    const sample = rule.hashes.share.number(key)
    const isBelow = (burst === undefined || burst.sample < burst.chance) && sample < share
    const isSampled = isBelow && !this.#isAhead(selection, ordinal)
    const result = isSampled ? 'sampled' : isBelow ? 'forbidden' : 'not_sampled'
    return { result, ordinal, key, sample, share, burst }
  }

  /** Wakes what waits on behalf of the rule. */
  wake(): void {
    this.#retirement?.abort()
    this.#retirement = undefined
  }

  #outOfWindow(selection: Selection, now: number): RuleResult | undefined {
    if (!selection.inPod) return 'other_pod'
    if (now < windowStart(selection, this.since)) return 'not_yet'
    return now >= windowEnd(selection, this.since) ? 'expired' : undefined
  }

  #quotaUsed({ times }: Selection): boolean {
    return times !== undefined && this.#sampled >= times
  }

  /**
   * Calls that share a key share their fate, so that a key which all of them share would make any
   * share the whole. The limit is kept by counting, too.
   */
  #isAhead({ stickyBy, highest }: Selection, ordinal: number): boolean {
    return stickyBy !== 'ordinal' && highest < 1 && this.#sampled >= highest * ordinal + HEAD_START
  }

  #refuse(result: RuleResult): undefined {
    this.counts[result]++
    return undefined
  }
}
