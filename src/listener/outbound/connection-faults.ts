import {
  type ConnectionConfig,
  connectionEffect,
  type Effects,
  mayFailCalls,
  NO_EFFECTS,
  withEffects,
} from '../../filters/connection.ts'
import type { RandomSource } from '../../base/seeded-random.ts'
import type { Destination } from '../../rules/match/call-facts.ts'
import type { CompiledRule } from '../../rules/match/compiled-rule.ts'
import {
  isOn,
  matchesConnection,
  sampleConnection,
  selectsAll,
} from '../../rules/select/connection-plan.ts'
import type { MatchedRule } from '../../rules/select/matched-rule.ts'
import { disarmedBy } from '../../rules/select/inactive-reason.ts'
import type { RuleState } from '../../rules/select/rule-state.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { ConnectionOrigin, ConnectionOutcome } from '../../telemetry/outbound-counts.ts'
import type { FaultListener } from '../faults/exchange-context.ts'

type ConnectionEnded = (outcome: ConnectionOutcome, origin: ConnectionOrigin) => void

/** Errors of calls follow a fault of a connection by at most this, in milliseconds. */
const AFTERMATH = 5_000
/** Selects the faults of outgoing connections by the active rules. */
export class ConnectionFaults {
  /** Receives the end of each connection. */
  readonly ended: ConnectionEnded
  readonly #rules: ActiveRules
  readonly #listener: FaultListener
  #actedAt = -Infinity

  constructor(rules: ActiveRules, listener: FaultListener, ended: ConnectionEnded) {
    this.ended = ended
    this.#rules = rules
    this.#listener = listener
  }

  /** Returns true while failed calls may be effects of a fault, by `performance.now()`. */
  isAtWork(now: number): boolean {
    return now - this.#actedAt < AFTERMATH
  }

  /** Returns the rules that may act now, in order. */
  active(): readonly CompiledRule[] {
    const { ruleSet, states, clock } = this.#rules
    const { connections } = ruleSet.index
    if (connections.length === 0 || disarmedBy(ruleSet, states) !== undefined) return []
    const now = clock()
    return connections.filter((rule) => isOn(rule, states, now))
  }

  /** Returns the rule that refuses every connection to these destinations, if any. */
  refusing(destinations: readonly Destination[]): CompiledRule | undefined {
    if (this.#rules.states.dryRun) return undefined
    for (const rule of this.active()) {
      if (rule.dryRun || !destinations.some((each) => matchesConnection(rule, each))) continue
      const isWhole = destinations.every((each) => matchesConnection(rule, each))
      if (configOf(rule).refuse === true && selectsAll(rule) && isWhole) return rule
      // Later rules are not asked for what this rule samples.
      if (rule.stop) return undefined
    }
    return undefined
  }

  stateOf(rule: CompiledRule): RuleState | undefined {
    return this.#rules.states.of(rule)
  }

  sample(rule: CompiledRule, destination: Destination): MatchedRule | undefined {
    const { states, clock } = this.#rules
    return sampleConnection(rule, destination, states, clock())
  }

  /** Counts a fault that takes effect, and that goes on. */
  acts(match: MatchedRule, destination: Destination): void {
    if (mayFailCalls(configOf(match.rule))) this.#actedAt = performance.now()
    if (match.hasApplied) return
    match.applied()
    const { host, address, port } = destination
    this.#listener.injected({
      rule: match.rule.name,
      fault: 'connection',
      call: undefined,
      effect: `${connectionEffect(configOf(match.rule))}: ${host ?? address ?? 'other'}:${port}`,
      delayMs: undefined,
      first: true,
    })
  }
}

/** Samples each rule once for one connection, and returns its effects at each moment. */
export class FaultsOfConnection {
  readonly #faults: ConnectionFaults
  /** Undefined for a rule that leaves the connection alone. */
  readonly #matches = new Map<RuleState, MatchedRule | undefined>()
  readonly #random = new Map<MatchedRule, RandomSource>()
  readonly #acting = new Set<MatchedRule>()

  constructor(faults: ConnectionFaults) {
    this.#faults = faults
  }

  /** Returns the effects now. `rules` are those that may act. */
  update(rules: readonly CompiledRule[], destination: Destination): Effects {
    if (rules.length === 0 && this.#matches.size === 0) return NO_EFFECTS
    const acting = new Set<MatchedRule>()
    let effects = NO_EFFECTS
    for (const rule of rules) {
      const match = this.#matchOf(rule, destination)
      if (match === undefined) continue
      if (this.#acting.has(match) || match.begin()) {
        acting.add(match)
        this.#acting.add(match)
        if (configOf(rule).cut === undefined) this.#faults.acts(match, destination)
        effects = withEffects(effects, configOf(rule), this.#randomOf(match))
      }
      if (rule.stop && !rule.dryRun) break
    }
    for (const match of this.#acting) {
      if (acting.has(match)) continue
      match.end()
      this.#acting.delete(match)
    }
    return effects
  }

  /** Counts the rules by which the connection was cut. */
  hasCut(cut: number, destination: Destination): void {
    for (const match of this.#acting) {
      if (configOf(match.rule).cut === cut) this.#faults.acts(match, destination)
    }
  }

  /** Ends the faults, after the connection. */
  close(): void {
    for (const match of this.#matches.values()) match?.finish()
    this.#matches.clear()
    this.#random.clear()
    this.#acting.clear()
  }

  #randomOf(match: MatchedRule): RandomSource {
    const at = match.rule.uses.findIndex(({ fault }) => fault === 'connection')
    const random = this.#random.get(match) ?? match.random(at)
    this.#random.set(match, random)
    return random
  }

  #matchOf(rule: CompiledRule, destination: Destination): MatchedRule | undefined {
    const state = this.#faults.stateOf(rule)
    if (state === undefined) return undefined
    if (this.#matches.has(state)) return this.#matches.get(state)
    if (!matchesConnection(rule, destination)) return undefined
    const match = this.#faults.sample(rule, destination)
    this.#matches.set(state, match)
    return match
  }
}

function configOf({ uses }: CompiledRule): ConnectionConfig {
  const use = uses.find(({ fault }) => fault === 'connection')
  return use?.fault === 'connection' ? use.config : {}
}
