import { type Rates, sumOf, sumRates } from './rates.ts'
import type { SidecarView } from './sidecar-view.ts'
import type { ErrorKind, Rule, Snapshot } from './read-snapshot.ts'

export type Combined = ReturnType<typeof combine>

const MAX_FAULTS = 50

/** Combines the state of the sidecars that are connected. */
export function combine(views: readonly SidecarView[]) {
  const live = views.filter(({ link }) => link === 'live')
  const rates = live.flatMap((view) => view.rates ?? [])
  return {
    rules: combineRules(live.flatMap(({ snapshot }) => snapshot ?? [])),
    tools: combineTools(live),
    errors: combineErrors(live.flatMap(({ snapshot }) => snapshot?.errors ?? [])),
    faults: live
      .flatMap((view) => view.faults)
      .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
      .slice(0, MAX_FAULTS),
    /** Undefined until a sidecar reports rates. */
    rates: rates.length === 0 ? undefined : sumRates(rates),
    trend: combineTrends(views),
    digests: differingDigests(views),
  }
}

/** Sums up equal kinds of errors, those that occurred last first. */
function combineErrors(all: readonly ErrorKind[]): readonly ErrorKind[] {
  const found = new Map<string, ErrorKind>()
  for (const kind of all) {
    const key = JSON.stringify([kind.called, kind.origin, kind.outcome, kind.status, kind.by])
    const before = found.get(key)
    const newest = before === undefined || before.last < kind.last ? kind : before
    found.set(key, { ...newest, count: (before?.count ?? 0) + kind.count })
  }
  return [...found.values()].sort((a, b) => (a.last < b.last ? 1 : a.last > b.last ? -1 : 0))
}

function combineTrends(views: readonly SidecarView[]): readonly (Rates | undefined)[] {
  const length = Math.max(0, ...views.map(({ trend }) => trend.length))
  return Array.from({ length }, (_, i) => {
    const known = views.flatMap(({ trend }) => trend[trend.length - length + i] ?? [])
    return known.length === 0 ? undefined : sumRates(known)
  })
}

/**
 * Returns the sidecar numbers by rules digest; empty when all connected sidecars have the same
 * rules.
 */
export function differingDigests(views: readonly SidecarView[]) {
  const found = new Map<string, number[]>()
  for (const [i, { link, snapshot }] of views.entries()) {
    if (link !== 'live' || snapshot === undefined) continue
    found.set(snapshot.digest, [...(found.get(snapshot.digest) ?? []), i + 1])
  }
  if (found.size < 2) return []
  return [...found].map(([digest, sidecars]) => ({ digest, sidecars }))
}

export type CombinedRule = ReturnType<typeof combineOne>

type RuleState = Rule['phase'] | 'disarmed' | 'dry_run'

interface RuleInSidecar {
  readonly rule: Rule
  readonly state: RuleState
}

/** Combines equal rules of all sidecars, in the order of their files. */
function combineRules(snapshots: readonly Snapshot[]): readonly CombinedRule[] {
  const seen = new Map<string, RuleInSidecar[]>()
  for (const snapshot of snapshots) {
    for (const rule of snapshot.rules) {
      const key = JSON.stringify([rule.builtIn, rule.temporary, rule.name, rule.faults])
      const known = seen.get(key)
      const one = { rule, state: stateOf(rule, snapshot) }
      if (known === undefined) seen.set(key, [one])
      else known.push(one)
    }
  }
  return [...seen.values()].map(combineOne)
}

function stateOf({ phase, dryRun }: Rule, { armed, dryRun: allDryRun }: Snapshot): RuleState {
  if (phase !== 'on') return phase
  if (!armed) return 'disarmed'
  return dryRun || allDryRun ? 'dry_run' : 'on'
}

/** Sums up a rule over all sidecars that have the rule. */
function combineOne(all: readonly RuleInSidecar[]) {
  const [{ rule, state }] = all as readonly [RuleInSidecar]
  const sum = (of: (rule: Rule) => number): number =>
    all.reduce((total, each) => total + of(each.rule), 0)
  return {
    name: rule.name,
    faults: rule.faults,
    builtIn: rule.builtIn,
    temporary: rule.temporary,
    dryRun: all.some((each) => each.rule.dryRun),
    /** The state in all sidecars that have the rule; `mixed` when they differ. */
    state: all.every((each) => each.state === state) ? state : ('mixed' as const),
    /** The number of sidecars in which the rule is on. */
    on: all.filter((each) => each.state === 'on').length,
    /** The number of sidecars that have the rule. */
    of: all.length,
    matched: sum(({ matched }) => matched),
    sampled: sum(({ sampled }) => sampled),
    applied: sum(({ applied }) => applied),
    active: sum(({ active }) => active),
  }
}

/** Sums up the calls of a tool over all sidecars. */
export interface CombinedTool {
  /** Empty for all methods other than `tools/call`. */
  readonly tool: string
  readonly calls: number
  readonly injected: number
  readonly real: number
  readonly squall: number
  /** Errors that faults of another Squall injected. */
  readonly elsewhere: number
  /** Undefined until a sidecar reports rates. */
  readonly rates: Rates | undefined
  /** Seconds of the last calls, as clients saw them; of several sidecars the largest. */
  readonly latency: Quantiles
}

type Quantiles = NonNullable<Snapshot['tools'][number]['client']>

const UNKNOWN: Quantiles = { p50: null, p95: null, p99: null }

function largest(a: Quantiles, b: Quantiles): Quantiles {
  const of = (name: keyof Quantiles): number | null =>
    a[name] === null ? b[name] : Math.max(a[name], b[name] ?? 0)
  return { p50: of('p50'), p95: of('p95'), p99: of('p99') }
}

/** Combines the tools of all sidecars, those with the most errors first. */
function combineTools(views: readonly SidecarView[]): readonly CombinedTool[] {
  const found = new Map<string, CombinedTool>()
  for (const { snapshot, rates } of views) {
    for (const { tool, calls, errors, client = UNKNOWN } of snapshot?.tools ?? []) {
      const before = found.get(tool)
      const known = [before?.rates, rates?.tools.get(tool)].filter((each) => each !== undefined)
      found.set(tool, {
        tool,
        calls: (before?.calls ?? 0) + sumOf(calls),
        injected: (before?.injected ?? 0) + errors.injected,
        real: (before?.real ?? 0) + errors.real,
        squall: (before?.squall ?? 0) + errors.squall,
        elsewhere: (before?.elsewhere ?? 0) + errors.injected_elsewhere,
        rates: known.length === 0 ? undefined : sumRates(known),
        latency: largest(before?.latency ?? UNKNOWN, client),
      })
    }
  }
  const errors = ({ injected, real, squall, elsewhere }: CombinedTool): number =>
    injected + real + squall + elsewhere
  return [...found.values()].sort(
    (a, b) => errors(b) - errors(a) || b.calls - a.calls || (a.tool < b.tool ? -1 : 1),
  )
}
