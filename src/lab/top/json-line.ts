import type { Board, SidecarView } from './sidecar-view.ts'
import { combine } from './combined.ts'
import { sampledCalls } from './figures.ts'
import type { Rates } from './rates.ts'

const MAX_FAULTS = 20

/** Formats the state of all sidecars as one line of JSON. */
export function jsonLine(board: Board): string {
  const { rules, tools, faults, digests, rates } = combine(board.sidecars)
  const shown = {
    at: board.at,
    sidecars: board.sidecars.map(showSidecar),
    differentRules: digests.length > 0,
    perSecond: showRates(rates),
    rules,
    tools: tools.map(({ rates: ofTool, ...tool }) => ({ ...tool, perSecond: showRates(ofTool) })),
    faults: faults.slice(0, MAX_FAULTS),
  }
  return `${JSON.stringify(shown)}\n`
}

function showSidecar(view: SidecarView): object {
  const { address, link, problem, snapshot, rates } = view
  const lost = { address, link, problem: problem === '' ? null : problem }
  // A state from before the connection was lost is not shown as the current state.
  if (link !== 'live' || snapshot === undefined) return lost
  const { version, environment, armed, reasons, dryRun, activeFaults, digest, generation } =
    snapshot
  return {
    ...lost,
    version,
    environment: environment === '' ? null : environment,
    armed,
    reasons,
    dryRun,
    activeFaults,
    digest: digest === '' ? null : digest,
    generation,
    ruleCount: snapshot.ruleCount,
    lastReload: snapshot.lastReload ?? null,
    sampled: sampledCalls(view),
    faultsTotal: snapshot.faults.total,
    perSecond: showRates(rates),
  }
}

function showRates(rates: Rates | undefined): object | null {
  if (rates === undefined) return null
  const { calls, injected, real, squall } = rates
  const round = (value: number): number => Math.round(value * 1_000) / 1_000
  return {
    calls: round(calls),
    injected: round(injected),
    real: round(real),
    squall: round(squall),
  }
}
