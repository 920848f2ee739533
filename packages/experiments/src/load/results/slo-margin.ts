import type { Verdict } from '#sidecar'
import type { IndicatorCounts } from '../../indicators/indicators.ts'
import type { AgentResult, SloMargin } from './result.ts'

/** The measurements of sidecars; undefined without them. */
export interface Verdicts {
  readonly agents?: AgentResult | undefined
}

/** Selects the failures that a rate counts, and all calls, tasks or verdicts. */
export type RateCounts = (
  measured: { readonly counts: IndicatorCounts } & Verdicts,
) => Omit<NonNullable<SloMargin['counted']>, 'allowed'>

/** Counts failed calls by what the calls should have been. */
export function failedCalls(good: keyof IndicatorCounts, of: 'calls' | 'responded'): RateCounts {
  return ({ counts }) => ({ unit: 'calls', total: counts[of], beyond: counts[of] - counts[good] })
}

export function tasksIn(name: keyof IndicatorCounts): RateCounts {
  return ({ counts }) => ({ unit: 'tasks', total: counts.tasks, beyond: counts[name] })
}

/**
 * Returns the verdicts that say what an agent did, which excludes `ambiguous`; undefined when they
 * are not known.
 */
export function clearVerdicts(agents: AgentResult | undefined) {
  if (agents === undefined || agents.problem !== undefined) return undefined
  const { totals } = agents
  const of = (verdict: Verdict): number => totals[verdict] ?? 0
  const all = Object.values(totals).reduce((sum, count) => sum + count, 0) - of('ambiguous')
  return { all, of }
}

export function verdictsIn(verdict: Verdict): RateCounts {
  return ({ agents }) => {
    const totals = clearVerdicts(agents)
    return { unit: 'verdicts', total: totals?.all ?? 0, beyond: totals?.of(verdict) ?? 0 }
  }
}

/** Returns the distance of a value from a limit, which is a maximum or a minimum. */
export function marginOf(measured: number, limit: number, isMaximum: boolean): SloMargin {
  const distance = isMaximum ? limit - measured : measured - limit
  return { distance, ofLimit: limit === 0 ? null : distance / limit }
}

/** Returns the highest number of failures, from -1 to `total`, at which `passes` holds. */
export function mostAllowed(
  total: number,
  share: number,
  passes: (failed: number) => boolean,
): number {
  let most = Math.min(total, Math.floor(share * total))
  // The product may be off by one.
  while (most >= 0 && !passes(most)) most--
  while (most < total && passes(most + 1)) most++
  return most
}
