import { inactiveReasonFor } from './inactive-reason.ts'
import { createFault, type FaultUse } from '../../filters/index.ts'
import { isHandshake } from '../../mcp/classify.ts'
import { type RequestedFaults, readFaultHeaders } from './fault-headers.ts'
import type { CallFacts } from '../match/call-facts.ts'
import { type CompileOptions, compileRules, MAX_ACTIVE } from '../match/compile.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import { MatchedRule } from './matched-rule.ts'
import type { Clock, Plan } from './plan.ts'
import { forbiddenFault } from '../guard/rule-limits.ts'
import type { RuleSet } from '../match/rule-set.ts'
import type { RuleState } from './rule-state.ts'
import type { RuleStates } from './rule-states.ts'
import { ruleHashes } from './selection.ts'

/** Limits on the faults that callers may request. */
export interface HeaderFaultOptions {
  /** The highest share of requesting calls that get faults, 0 to 100. */
  readonly maxPercent: number
}

/** The rule that stands for what callers ask for by headers. */
const HEADER_FAULTS = 'header-faults'
/** The longest delay that callers can request. */
export const MAX_ASKED_DELAY_MS = 300_000

/** Faults that callers request by headers: a rule without a file, with a state like all others. */
export class HeaderFaults {
  /** The rule without faults, which each call supplies. */
  readonly rule: CompiledRule
  readonly state: RuleState
  readonly #states: RuleStates
  readonly #forbidsDelay: boolean
  readonly #forbidsAbort: boolean
  readonly #maxPercent: number
  readonly #maxDelay: number
  #ofSeed: CompiledRule
  #seed: string | undefined
  #invalid = 0

  constructor(
    options: HeaderFaultOptions,
    limits: CompileOptions,
    states: RuleStates,
    /** When it became active, in milliseconds since the epoch. */
    now: number,
  ) {
    this.#forbidsDelay = forbiddenFault(['delay'], limits) !== undefined
    this.#forbidsAbort = forbiddenFault(['abort'], limits) !== undefined
    this.#states = states
    this.#maxPercent = Math.min(options.maxPercent, limits.maxPercent ?? 100)
    this.#maxDelay = Math.min(MAX_ASKED_DELAY_MS, limits.maxDuration ?? Infinity)
    const maxActive = limits.maxActive ?? MAX_ACTIVE
    const spec = { name: HEADER_FAULTS, faults: [], maxActive }
    const { rules } = compileRules({ rules: [spec] }, { pod: limits.pod })
    // The rule precedes the file, and no rule of a file has this digest.
    this.rule = Object.freeze({ ...rules[0]!, index: -1, digest: HEADER_FAULTS })
    this.#ofSeed = this.rule
    this.state = states.keep(this.rule, now)
  }

  /** The number of unreadable header values, which were ignored. */
  get invalid(): number {
    return this.#invalid
  }

  /**
   * Returns the faults that a call asks for, as a matched rule; undefined when there are none or
   * they are not injected. Counts.
   */
  plan(ruleSet: RuleSet, facts: CallFacts, clock: Clock): MatchedRule | undefined {
    if (isHandshake(facts.call.method)) return undefined
    const asked = readFaultHeaders(facts.headers, () => this.#invalid++)
    if (asked === undefined) return undefined
    const { counts } = this.state
    counts.matched++
    const inactiveReason = inactiveReasonFor(ruleSet, facts, this.#states)
    if (inactiveReason === 'disarmed') {
      counts.disarmed++
      return undefined
    }
    if (inactiveReason !== undefined || this.#forbids(asked)) {
      counts.forbidden++
      return undefined
    }
    return this.#sample(asked, facts, this.#underSeed(ruleSet.seed), clock)
  }

  #forbids(asked: RequestedFaults): boolean {
    if (this.#forbidsDelay && asked.delay !== undefined) return true
    return this.#forbidsAbort && asked.abort !== undefined
  }

  /** Samples once for both faults, so the smaller share is a subset of the larger one. */
  #sample(
    asked: RequestedFaults,
    facts: CallFacts,
    rule: CompiledRule,
    clock: Clock,
  ): MatchedRule | undefined {
    const delayShare = Math.min(asked.delayPercent, this.#maxPercent) / 100
    const abortShare = Math.min(asked.abortPercent, this.#maxPercent) / 100
    const selection = { ...rule.selection, share: Math.max(delayShare, abortShare) }
    const key = this.state.sample({ selection, hashes: rule.hashes }, facts, clock())
    if (key === undefined) return undefined
    const sampled = rule.hashes.share.number(key)
    const faults = {
      ...asked,
      delay: sampled < delayShare ? asked.delay : undefined,
      abort: sampled < abortShare ? asked.abort : undefined,
    }
    const uses = usesOf(faults, this.#maxDelay)
    const own = Object.freeze({ ...rule, uses, faults: uses.map((use) => createFault(use)) })
    return new MatchedRule(own, this.state, this.#states.active, key, this.#states.dryRun)
  }

  #underSeed(seed: string): CompiledRule {
    if (seed !== this.#seed) {
      this.#seed = seed
      this.#ofSeed = Object.freeze({ ...this.rule, hashes: ruleHashes(seed, HEADER_FAULTS) })
    }
    return this.#ofSeed
  }
}

/** Adds the faults that the caller requests before those of the rules file. */
export function withHeaderFaults(
  plan: Plan | undefined,
  match: MatchedRule | undefined,
): Plan | undefined {
  if (match === undefined) return plan
  const matched = plan === undefined ? [match] : [match, ...plan.matched]
  return { matched, dryRun: match.dryRun && (plan === undefined || plan.dryRun) }
}

function usesOf({ delay, abort }: RequestedFaults, maxDelay: number): readonly FaultUse[] {
  const uses: FaultUse[] = []
  if (delay !== undefined) {
    const fixed = Math.min(delay, maxDelay)
    uses.push({ fault: 'delay', config: { fixed, max: maxDelay, at: 'request' } })
  }
  if (abort !== undefined) uses.push({ fault: 'abort', config: { status: abort, at: 'request' } })
  return uses
}
