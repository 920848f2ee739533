import { BurstChain } from './burst.ts'
import { Episodes } from './episode.ts'
import { type RuleCounts, type RuleResult, noCounts } from './rule-counts.ts'
import {
  type RuleHashes,
  type Selection,
  idleAt,
  isConsidered,
  ruleStart,
  shareAt,
  stickyKey,
  windowStart,
} from './selection.ts'
import type { Facts } from '../match/call-facts.ts'

/** Sampled calls may exceed the highest share by this number, for the first few calls. */
const HEAD_START = 10

/** The parts of a rule, besides its state, that decide whether it samples a call. */
export interface SampledRule {
  readonly selection: Selection
  readonly hashes: RuleHashes
}

/** The result that the next matching call would get. */
export interface Forecast {
  readonly result: RuleResult | 'sampled'
  readonly ordinal: number
  /** The hashed key, and its sample from 0 to below 1; undefined where an earlier test decides. */
  readonly key: string | undefined
  readonly sample: number | undefined
  /** The rule samples the call when the sample is below this. */
  readonly share: number
  /** The sample that advances the burst, and the chance that it must be below. */
  readonly burst: { readonly sample: number; readonly chance: number } | undefined
}

/**
 * Keeps the state of a rule between calls. The state survives a reload that leaves the rule
 * unchanged; a changed rule begins with a new state.
 */
export class RuleState {
  readonly counts: RuleCounts = noCounts()
  readonly active: ActiveLimit
  readonly faults = new RuleFaults()
  readonly #burst: BurstChain | undefined
  readonly #episodes: Episodes | undefined
  #ordinal = 0
  #sampled = 0
  #appliedAt: number | undefined
  #since: number

  constructor(selection: Selection, now: number, appliedAt?: number) {
    this.#appliedAt = appliedAt
    this.#since = ruleStart(appliedAt, now)
    this.active = new ActiveLimit(selection.maxActive)
    this.#burst = selection.burst === undefined ? undefined : new BurstChain(selection.burst)
    const { episode } = selection
    this.#episodes = episode === undefined ? undefined : new Episodes(episode)
  }

  /** The written time at which the rule was applied, if any. */
  get appliedAt(): number | undefined {
    return this.#appliedAt
  }

  /** The time that its durations count from, in milliseconds since the epoch. */
  get since(): number {
    return this.#since
  }

  /** Sets the time at which the rule was applied, unless it is known. */
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

  /**
   * Returns the key by which a matching call is sampled, or undefined when it is not sampled.
   * Counts either way.
   */
  sample(rule: SampledRule, facts: Facts, now: number): string | undefined {
    const { selection } = rule
    const skipped = idleAt(selection, this.since, now)
    if (skipped !== undefined) return this.#skip(skipped)
    const ordinal = ++this.#ordinal
    if (this.#quotaUsed(selection)) return this.#skip('quota_used')
    if (!isConsidered(selection, ordinal)) return this.#skip('not_selected')
    const episodes = this.#episodes
    if (episodes !== undefined && !episodes.add(stickyKey(selection, facts, ordinal))) {
      return this.#skip('not_selected')
    }
    if (this.#burst?.next(rule.hashes.burst.number(`${selection.replica}${ordinal}`)) === false) {
      return this.#skip('not_sampled')
    }
    const share = shareAt(selection, now - windowStart(selection, this.since))
    const key = stickyKey(selection, facts, ordinal)
    if (share < 1 && (share <= 0 || rule.hashes.share.number(key) >= share)) {
      return this.#skip('not_sampled')
    }
    if (this.#isAhead(selection, ordinal)) return this.#skip('forbidden')
    this.#sampled++
    this.counts.sampled++
    return key
  }

  /** Returns a sampled call to `times` after a concurrency limit rejected it. */
  giveBack(): void {
    this.#sampled--
  }

  /** Returns the result of `sample` with its reason, without changes. */
  forecast(rule: SampledRule, facts: Facts, now: number): Forecast {
    const { selection } = rule
    const ordinal = this.#ordinal + 1
    const share = shareAt(selection, now - windowStart(selection, this.since))
    const without = { ordinal, key: undefined, sample: undefined, share, burst: undefined }
    const skipped = idleAt(selection, this.since, now)
    if (skipped !== undefined) return { ...without, result: skipped, ordinal: this.#ordinal }
    if (this.#quotaUsed(selection)) return { ...without, result: 'quota_used' }
    const key = stickyKey(selection, facts, ordinal)
    if (!isConsidered(selection, ordinal) || this.#episodes?.has(key) === false) {
      return { ...without, result: 'not_selected' }
    }
    const burst =
      this.#burst === undefined
        ? undefined
        : {
            sample: rule.hashes.burst.number(`${selection.replica}${ordinal}`),
            chance: this.#burst.chance,
          }
    const sample = rule.hashes.share.number(key)
    const isBelow = (burst === undefined || burst.sample < burst.chance) && sample < share
    const isSampled = isBelow && !this.#isAhead(selection, ordinal)
    const result = isSampled ? 'sampled' : isBelow ? 'forbidden' : 'not_sampled'
    return { result, ordinal, key, sample, share, burst }
  }

  #quotaUsed({ times }: Selection): boolean {
    return times !== undefined && this.#sampled >= times
  }

  /**
   * Enforces the highest share by counting as well. Calls with equal keys have equal samples, so a
   * key that all calls share would exceed any share.
   */
  #isAhead({ stickyBy, highest }: Selection, ordinal: number): boolean {
    return stickyBy !== 'ordinal' && highest < 1 && this.#sampled >= highest * ordinal + HEAD_START
  }

  #skip(result: RuleResult): undefined {
    this.counts[result]++
    return undefined
  }
}

/** Keeps what the faults of a rule share between calls, and wakes those that sleep. */
class RuleFaults {
  #retirement: AbortController | undefined
  readonly #memories = new Map<number, unknown>()

  /** Aborted when the rule is removed or disarmed, which wakes its sleeping faults. */
  get retired(): AbortSignal {
    return (this.#retirement ??= new AbortController()).signal
  }

  /** Wakes the sleeping faults of the rule. */
  wake(): void {
    this.#retirement?.abort()
    this.#retirement = undefined
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

  /** Closes the memories of a rule that was removed. */
  close(): void {
    for (const memory of this.#memories.values()) (memory as { close?(): void }).close?.()
  }
}

/** Counts faults in progress, up to a limit that may change at any time. */
export class ActiveLimit {
  /** The maximum; when it is lowered, faults in progress continue. */
  limit: number
  #active = 0

  constructor(limit = Infinity) {
    this.limit = limit
  }

  get active(): number {
    return this.#active
  }

  get full(): boolean {
    return this.#active >= this.limit
  }

  /** Counts a fault that begins. Callers test `full` before, and call `leave` once afterwards. */
  enter(): void {
    this.#active++
  }

  leave(): void {
    this.#active--
  }
}
