import type { BurstConfig } from './burst.ts'
import type { EpisodeConfig } from './episode.ts'
import { SampleHash } from './sample-hash.ts'
import { canonicalJson, isRecord } from '../../base/values.ts'
import { type HeaderLines, headerValue } from '../../http/headers.ts'
import { parseTraceparent, traceId } from '../../http/traceparent.ts'
import { decodeHeaderValue } from '../../mcp/name-header.ts'
import type { Facts } from '../match/call-facts.ts'

/** The clock of a node may be behind that of the API server by this much. */
const MAX_SKEW = 3_600_000
/** Clocks that differ by this much or less count as equal. */
const MIN_SKEW = 60_000

/** Selects among the matching calls of a rule. */
export interface Selection extends ShareConfig, WindowConfig, OrdinalConfig {
  /** Limits the sampled calls in total. */
  readonly times?: number | undefined
  readonly burst?: BurstConfig | undefined
  readonly episode?: EpisodeConfig | undefined
  readonly stickyBy: StickyBy
  /** Precedes an ordinal in a key, so that replicas sample independently; empty when they share. */
  readonly replica: string
  /** False when this replica is not among the rule's share of pods. */
  readonly inPod: boolean
  /** Limits the faults of this rule in progress. */
  readonly maxActive: number
}

/** The hashes of one rule, over the fields that all its calls share. */
export interface RuleHashes {
  readonly share: SampleHash
  readonly burst: SampleHash
  readonly fault: SampleHash
}

/** Returns the hashes for a rule's name under a seed. */
export function ruleHashes(seed: string, rule: string): RuleHashes {
  const share = SampleHash.of(seed, rule)
  return { share, burst: share.with('burst'), fault: share.with('fault') }
}

/** Names a replica, and the seed that its start drew or its options set. */
export interface Replica {
  readonly pod?: string | undefined
  readonly seed?: string | undefined
}

/** The samples that a rule has in common on all replicas. */
interface SharedSampling {
  readonly stickyBy?: StickyBy | undefined
  readonly shareSamples?: boolean | undefined
}

/** Replaces a missing seed where replicas must agree. */
export const COMMON_SEED = '0'

/**
 * Returns the seed of a rule's hashes, and the prefix of ordinals in its keys. Each replica counts
 * ordinals for itself: without the prefix, and the seed of its own, all would sample in lockstep.
 * Replicas must agree about calls that share a property, such as a session.
 */
export function replicaSampling(
  { stickyBy = 'ordinal', shareSamples = false }: SharedSampling,
  written: string | undefined,
  { pod, seed: own }: Replica,
): { readonly seed: string; readonly replica: string } {
  const isSticky = stickyBy !== 'ordinal'
  const seed = written ?? (isSticky || shareSamples ? COMMON_SEED : (own ?? COMMON_SEED))
  if (shareSamples) return { seed, replica: '' }
  const fields = [isSticky && written === undefined ? own : undefined, pod]
  return { seed, replica: fields.map((each) => (each === undefined ? '' : `${each}/`)).join('') }
}

/** Returns true when a pod is in a share (0 to 1) of all pods; the pods are equal for all rules. */
export function isPodIn(seed: string, share: number, pod: string): boolean {
  return share >= 1 || SampleHash.of(seed, 'pod').number(pod) < share
}

/** The share of calls that a rule samples over its active time. Shares are 0 to 1. */
export interface ShareConfig {
  readonly share: number
  /** Changes linearly from `share` to `to` within `over` milliseconds. */
  readonly ramp?: { readonly to: number; readonly over: number } | undefined
  /** Shares for `each` milliseconds each; the last one stays. */
  readonly stages?: { readonly shares: readonly number[]; readonly each: number } | undefined
  /** Limits the share of sampled calls, 0 to 1, independent of hashes. */
  readonly highest: number
}

/** Returns the share after `elapsed` milliseconds of activity. */
export function shareAt(config: ShareConfig, elapsed: number): number {
  const { share, ramp, stages, highest } = config
  if (stages !== undefined) {
    const last = stages.shares.length - 1
    const stage = stages.each > 0 ? Math.floor(Math.max(0, elapsed) / stages.each) : last
    return stages.shares[Math.min(stage, last)] ?? share
  }
  if (ramp === undefined) return share
  const grown = (ramp.to - share) * Math.max(0, elapsed / ramp.over)
  return Math.min(elapsed < ramp.over ? share + grown : ramp.to, highest)
}

/** When a rule is active, in milliseconds since the epoch. */
export interface WindowConfig {
  readonly from?: number | undefined
  readonly until?: number | undefined
  /** Milliseconds, counted from when the rule became active, and not before `from`. */
  readonly for?: number | undefined
  /** Acts for `lasting` milliseconds of every `period`. */
  readonly cycle?: { readonly period: number; readonly lasting: number } | undefined
}

/**
 * Returns the start of a rule's times: its `appliedAt`, or else when the rule was first seen. A
 * time up to an hour ahead of this clock counts as now; a later one is awaited.
 */
export function ruleStart(appliedAt: number | undefined, now: number): number {
  if (appliedAt === undefined) return now
  return appliedAt > now && appliedAt - now <= MAX_SKEW ? now : appliedAt
}

/** Returns true for a time that shows that the clocks differ. */
export function isAhead(appliedAt: number | undefined, now: number): boolean {
  return appliedAt !== undefined && appliedAt - now > MIN_SKEW
}

/** Returns when the rule begins to act, given the start of its times. */
export function windowStart(config: WindowConfig, since: number): number {
  return config.from !== undefined && config.from > since ? config.from : since
}

/** Returns when the rule ends; Infinity without an end. */
export function windowEnd(config: WindowConfig, since: number): number {
  const end = config.for === undefined ? Infinity : windowStart(config, since) + config.for
  return config.until !== undefined && config.until < end ? config.until : end
}

/** Returns when the rule next ends or pauses, after a time; Infinity where it never does. */
export function nextEnd(config: WindowConfig, since: number, after: number): number {
  const { cycle } = config
  const end = windowEnd(config, since)
  if (end <= after) return Infinity
  if (cycle === undefined || cycle.lasting >= cycle.period) return end
  const firstPause = windowStart(config, since) + cycle.lasting
  const cycles = Math.max(0, Math.floor((after - firstPause) / cycle.period) + 1)
  return Math.min(end, firstPause + cycles * cycle.period)
}

/** Returns after which time a rule never acts again; Infinity without an end. */
export function ruleEnd(
  rule: WindowConfig & { readonly repeat?: unknown; readonly appliedAt?: number | undefined },
  now: number,
): number {
  // A repeating rule begins again after its `for`.
  const window = rule.repeat === undefined ? rule : { from: rule.from, until: rule.until }
  return windowEnd(window, ruleStart(rule.appliedAt, now))
}

/** Returns true when a repeating rule pauses, `elapsed` milliseconds after its start. */
export function isPausing({ cycle }: WindowConfig, elapsed: number): boolean {
  return cycle !== undefined && elapsed % cycle.period >= cycle.lasting
}

/** The phase of a rule over time; a repeating rule that pauses is `not_yet`. */
export type RulePhase = 'disabled' | 'other_pod' | 'not_yet' | 'expired' | 'on'

/** Returns the phase of a rule, given the start of its times. */
export function phaseAt(
  { enabled, selection }: { readonly enabled: boolean; readonly selection: Selection },
  since: number,
  now: number,
): RulePhase {
  return enabled ? (idleAt(selection, since, now) ?? 'on') : 'disabled'
}

/** Returns why a rule does not act at a time; undefined while it does. */
export function idleAt(
  selection: Selection,
  since: number,
  now: number,
): 'other_pod' | 'not_yet' | 'expired' | undefined {
  if (!selection.inPod) return 'other_pod'
  const start = windowStart(selection, since)
  if (now < start) return 'not_yet'
  if (now >= windowEnd(selection, since)) return 'expired'
  return isPausing(selection, now - start) ? 'not_yet' : undefined
}

/** Selects matching calls by their order. */
export interface OrdinalConfig {
  readonly first?: number | undefined
  readonly after?: number | undefined
  readonly every?: number | undefined
}

/**
 * Returns true when the k-th matching call, counted from 1, is selected. The keys apply in order:
 * of the calls behind the first `after`, each `every`-th, and of these the `first` ones.
 */
export function isConsidered(config: OrdinalConfig, k: number): boolean {
  const { first, after, every } = config
  let nth = after === undefined ? k : k - after
  if (nth < 1) return false
  if (every !== undefined && every > 1) {
    if (nth % every !== 0) return false
    nth /= every
  }
  return first === undefined || nth <= first
}

/** The property of a call that decides whether it is sampled. A header is named in lower case. */
export type StickyBy = 'ordinal' | 'session' | 'args' | 'trace' | { readonly header: string }

/** Returns the sampling key of a call; its ordinal where the call lacks the property. */
export function stickyKey({ stickyBy, replica }: Selection, facts: Facts, ordinal: number): string {
  return sharedKey(stickyBy, facts) ?? `${replica}${ordinal}`
}

/** Returns the arguments of a call, from the parameter of its method. */
export function callArguments(params: unknown): unknown {
  return isRecord(params) ? params['arguments'] : undefined
}

/** Returns the decoded first value of a header. */
function headerText(lines: HeaderLines, name: string): string | undefined {
  const value = headerValue(lines, name)
  return value === undefined ? undefined : readHeaderText(name, value)
}

/** Decodes a header value: names that HTTP cannot carry are sent encoded. */
export function readHeaderText(name: string, value: string): string {
  const isEncoded = name === 'mcp-name' || name.startsWith('mcp-param-')
  return isEncoded ? (decodeHeaderValue(value) ?? value) : value
}

function sharedKey(stickyBy: StickyBy, facts: Facts): string | undefined {
  if (typeof stickyBy === 'object') return headerText(facts.headers, stickyBy.header)
  switch (stickyBy) {
    case 'ordinal':
      return undefined
    case 'session':
      return facts.session
    case 'args': {
      const args = callArguments(facts.call?.params)
      return args === undefined ? undefined : canonicalJson(args)
    }
    case 'trace': {
      const { call, headers } = facts
      const trace = call?.trace ?? parseTraceparent(headerValue(headers, 'traceparent') ?? '')
      return trace && traceId(trace)
    }
    default:
      return stickyBy satisfies never
  }
}
