import type { BurstConfig } from './burst.ts'
import { SampleHash } from './sampling.ts'
import type { OrdinalConfig } from './ordinals.ts'
import type { StickyBy } from './sticky-key.ts'
import type { ShareConfig } from './share.ts'
import type { WindowConfig } from './window.ts'

/** Selects among the matching calls of a rule. */
export interface Selection extends ShareConfig, WindowConfig, OrdinalConfig {
  /** Limits the sampled calls in total. */
  readonly times?: number | undefined
  readonly burst?: BurstConfig | undefined
  readonly stickyBy: StickyBy
  /** False when this replica is not among the rule's share of pods. */
  readonly inPod: boolean
  /** Faults of this rule in progress at the same moment. */
  readonly maxActive: number
  /** Limits the share of sampled calls, 0 to 1, whatever the hashes say. */
  readonly highest: number
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

/** True when a pod is among a share (0 to 1) of all pods; the same pods for every rule. */
export function isPodIn(seed: string, share: number, pod: string): boolean {
  return share >= 1 || SampleHash.of(seed, 'pod').number(pod) < share
}
