import { sha256Of } from '../../base/digest.ts'
import { createFault } from '../../filters/index.ts'
import { canonicalJson } from '../../base/values.ts'
import type { CompiledRule } from './compiled-rule.ts'
import { compileCallMatch, compilePlainMatch, directionOf, isHttpMatch } from './match-node.ts'
import { notForPod, type PodSelf } from './pod-match.ts'
import { RuleIndex, type RuleSet } from './rule-set.ts'
import type { RuleFileSpec, RuleSpec } from '../file/rule-spec.ts'
import { forbiddenFault, type RuleLimits } from '../guard/rule-limits.ts'
import {
  COMMON_SEED,
  isPodIn,
  type Replica,
  replicaSampling,
  ruleHashes,
  type Selection,
} from '../select/selection.ts'

/** Settings from outside the file: the pod, and the limits that the file cannot loosen. */
export interface CompileOptions extends RuleLimits, Replica {
  /** The labels and workload that rules about certain pods are compared with. */
  readonly self?: PodSelf | undefined
}

/** The most faults in progress where no file sets another number. */
export const MAX_ACTIVE = 100
/** Far below the index of every other rule. */
const FIRST_TEMPORARY = -2_000_000_000

/** Makes a validated file ready to be planned with. */
export function compileRules(file: RuleFileSpec, options: CompileOptions = {}): RuleSet {
  const seed = seedOf(file)
  return ruleSetOf(
    file,
    file.rules.map((rule, index) => compileRule(rule, index, seed, options)),
    options,
  )
}

/** Returns the written seed of the hashes that sample calls. */
export function seedOf({ seed }: RuleFileSpec): string | undefined {
  return seed === undefined ? undefined : String(seed)
}

/** Puts the compiled rules of a file together. */
export function ruleSetOf(
  file: RuleFileSpec,
  rules: readonly CompiledRule[],
  { seed }: CompileOptions = {},
): RuleSet {
  const written = seedOf(file)
  return Object.freeze({
    rules: Object.freeze(rules),
    enabled: file.enabled ?? true,
    seed: written ?? seed ?? COMMON_SEED,
    written,
    maxActive: file.maxActive ?? Infinity,
    index: new RuleIndex(rules),
  })
}

export function compileRule(
  rule: RuleSpec,
  index: number,
  written: string | undefined,
  options: CompileOptions,
): CompiledRule {
  const spec = rule.match ?? {}
  const isHttp = isHttpMatch(spec)
  const isConnection = rule.faults.some(({ fault }) => fault === 'connection')
  const { self } = options
  const isCall = !isHttp && !isConnection
  const match = isCall ? compileCallMatch(spec, self) : compilePlainMatch(spec, self)
  const elsewhere = Object.freeze(notForPod(spec, self ?? {}))
  const { seed, replica } = replicaSampling(rule, written, options)
  return Object.freeze({
    name: rule.name,
    index,
    digest: digestOf(rule),
    isHttp,
    isConnection,
    direction: directionOf(spec),
    elsewhere,
    appliedAt: rule.appliedAt,
    match,
    tests: match.tests,
    rest: match.rest,
    selection: Object.freeze({
      ...selectionOf(rule, written, options, elsewhere.length === 0),
      replica,
    }),
    hashes: ruleHashes(seed, rule.name),
    uses: rule.faults,
    faults: Object.freeze(rule.faults.map((use) => createFault(use))),
    enabled: rule.enabled ?? true,
    temporary: false,
    forbidden: forbiddenFault(
      rule.faults.map((use) => use.fault),
      options,
    ),
    dryRun: rule.dryRun ?? false,
    marker: rule.marker ?? true,
    stop: rule.then === 'stop',
  })
}

/** Compiles a rule that precedes those of the file; `order` counts the rules that were added. */
export function compileTemporary(
  rule: RuleSpec,
  order: number,
  seed: string | undefined,
  options: CompileOptions,
): CompiledRule {
  const compiled = compileRule(rule, FIRST_TEMPORARY + order, seed, options)
  // No rule of a file has this digest.
  return Object.freeze({ ...compiled, digest: `temporary-${compiled.digest}`, temporary: true })
}

/** Puts temporary rules before the rules of a file. */
export function withTemporary(file: RuleSet, temporary: readonly CompiledRule[]): RuleSet {
  if (temporary.length === 0) return file
  return Object.freeze({
    ...file,
    // In this list the rules of the file keep their places.
    rules: Object.freeze([...file.rules, ...temporary]),
    maxActive: file.maxActive === Infinity ? MAX_ACTIVE : file.maxActive,
    index: new RuleIndex(temporary, file.index),
  })
}

function selectionOf(
  rule: RuleSpec,
  seed: string | undefined,
  options: CompileOptions,
  isHere: boolean,
): Omit<Selection, 'replica'> {
  const highest = (options.maxPercent ?? 100) / 100
  const capped = (share: number): number => Math.min(share, highest)
  const { ramp, stages, burst, pods, percent, probability } = rule
  const given = percent === undefined ? probability : percent / 100
  const longest = options.maxDuration ?? Infinity
  const { repeat } = rule
  const lasting = Math.min((repeat === undefined ? rule.for : undefined) ?? Infinity, longest)
  return {
    // A limit cuts off the top of a ramp, and leaves its slope.
    share: ramp === undefined ? capped(given ?? 1) : (given ?? 0),
    ramp: ramp === undefined ? undefined : { to: ramp.to / 100, over: ramp.over },
    stages:
      stages === undefined
        ? undefined
        : { shares: stages.map((stage) => capped(stage / 100)), each: rule.each ?? 0 },
    from: rule.from,
    until: rule.until,
    for: lasting === Infinity ? undefined : lasting,
    cycle: repeat === undefined ? undefined : { period: repeat, lasting: rule.for ?? repeat },
    first: rule.first,
    after: rule.after,
    every: rule.every,
    times: rule.times,
    // Within a burst the share is what keeps each call's chance below the highest.
    burst,
    episode: rule.episode,
    stickyBy: lowerCase(rule.stickyBy ?? 'ordinal'),
    inPod: isHere && (pods === undefined || pods >= 100 || isInPods(pods / 100, options.pod, seed)),
    maxActive: rule.maxActive ?? Infinity,
    highest,
  }
}

/** The choice must outlive restarts, which draw another seed, and programs outside compute it. */
function isInPods(share: number, pod: string | undefined, seed = COMMON_SEED): boolean {
  return pod !== undefined && isPodIn(seed, share, pod)
}

function lowerCase(stickyBy: Selection['stickyBy']): Selection['stickyBy'] {
  return typeof stickyBy === 'string' ? stickyBy : { header: stickyBy.header.toLowerCase() }
}

/** Identifies a rule without its times: who moves those alone wants the rule to go on as it is. */
export function digestOf(rule: RuleSpec): string {
  const { until: _, appliedAt: __, ...lasting } = rule
  return sha256Of(canonicalJson(lasting)).slice(0, 16)
}
