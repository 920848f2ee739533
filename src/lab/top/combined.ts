import { combineRules, type CombinedRule } from './combined-rules.ts'
import { combineTools, type CombinedTool } from './combined-tools.ts'
import { type Rates, sumRates } from './rates.ts'
import type { SidecarView } from './sidecar-view.ts'
import type { Fault } from './read-snapshot.ts'

/** The combined state of several sidecars. */
export interface Combined {
  readonly rules: readonly CombinedRule[]
  readonly tools: readonly CombinedTool[]
  readonly faults: readonly Fault[]
  /** Undefined as long as none tells a rate. */
  readonly rates: Rates | undefined
  readonly trend: readonly (Rates | undefined)[]
  /** The numbers of the sidecars by digest, where there is more than one. */
  readonly digests: readonly { readonly digest: string; readonly sidecars: readonly number[] }[]
}

const MAX_FAULTS = 50

/** Puts together what sidecars tell that are heard right now. */
export function combine(views: readonly SidecarView[]): Combined {
  const live = views.filter(({ link }) => link === 'live')
  const rates = live.flatMap((view) => view.rates ?? [])
  return {
    rules: combineRules(live.flatMap(({ snapshot }) => snapshot ?? [])),
    tools: combineTools(live),
    faults: live
      .flatMap((view) => view.faults)
      .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
      .slice(0, MAX_FAULTS),
    rates: rates.length === 0 ? undefined : sumRates(rates),
    trend: combineTrends(views),
    digests: differingDigests(views),
  }
}

function combineTrends(views: readonly SidecarView[]): readonly (Rates | undefined)[] {
  const length = Math.max(0, ...views.map(({ trend }) => trend.length))
  return Array.from({ length }, (_, i) => {
    const known = views.flatMap(({ trend }) => trend[trend.length - length + i] ?? [])
    return known.length === 0 ? undefined : sumRates(known)
  })
}

/** The numbers of the sidecars by digest, where those that are heard have more than one. */
export function differingDigests(views: readonly SidecarView[]): Combined['digests'] {
  const found = new Map<string, number[]>()
  for (const [i, { link, snapshot }] of views.entries()) {
    if (link !== 'live' || snapshot === undefined) continue
    found.set(snapshot.digest, [...(found.get(snapshot.digest) ?? []), i + 1])
  }
  if (found.size < 2) return []
  return [...found].map(([digest, sidecars]) => ({ digest, sidecars }))
}
