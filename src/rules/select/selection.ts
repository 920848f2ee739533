import type { BurstConfig } from './burst.ts'
import { Draw } from './sampling.ts'
import type { OrdinalConfig } from './ordinals.ts'
import type { StickyBy } from './sticky-key.ts'
import type { ShareConfig } from './share.ts'
import type { WindowConfig } from './window.ts'

/** Which of the matching calls a rule hits. */
export interface Selection extends ShareConfig, WindowConfig, OrdinalConfig {
  /** Hits at most this many, all told. */
  readonly times?: number | undefined
  readonly burst?: BurstConfig | undefined
  readonly stickyBy: StickyBy
  /** False when this replica is not among the rule's share of pods. */
  readonly inPod: boolean
  /** Faults of this rule in progress at the same moment. */
  readonly maxActive: number
  /** No more than this share of the calls may be hit, 0 to 1, whatever the draws say. */
  readonly highest: number
}

/** The draws of one rule: what they share is hashed once. */
export interface RuleDraws {
  readonly share: Draw
  readonly burst: Draw
  readonly fault: Draw
}

/** The draws that belong to a rule's name under a seed. */
export function ruleDraws(seed: string, rule: string): RuleDraws {
  const share = Draw.of(seed, rule)
  return { share, burst: share.with('burst'), fault: share.with('fault') }
}

/** True when a pod is among a share (0 to 1) of all pods; the same pods for every rule. */
export function isPodIn(seed: string, share: number, pod: string): boolean {
  return share >= 1 || Draw.of(seed, 'pod').number(pod) < share
}
