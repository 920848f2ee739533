import { type Rates, sumOf, sumRates } from './rates.ts'
import type { SidecarView } from './sidecar-view.ts'

/** The calls of a tool in all sidecars. */
export interface CombinedTool {
  /** Empty for all methods that are no calls of tools. */
  readonly tool: string
  readonly calls: number
  readonly injected: number
  readonly real: number
  readonly squall: number
  /** Undefined as long as no sidecar tells it. */
  readonly rates: Rates | undefined
}

/** The tools of all sidecars, those with errors of either kind first. */
export function combineTools(views: readonly SidecarView[]): readonly CombinedTool[] {
  const found = new Map<string, CombinedTool>()
  for (const { snapshot, rates } of views) {
    for (const { tool, calls, errors } of snapshot?.tools ?? []) {
      const before = found.get(tool)
      const known = [before?.rates, rates?.tools.get(tool)].filter((each) => each !== undefined)
      found.set(tool, {
        tool,
        calls: (before?.calls ?? 0) + sumOf(calls),
        injected: (before?.injected ?? 0) + errors.injected,
        real: (before?.real ?? 0) + errors.upstream,
        squall: (before?.squall ?? 0) + errors.squall,
        rates: known.length === 0 ? undefined : sumRates(known),
      })
    }
  }
  const errors = ({ injected, real, squall }: CombinedTool): number => injected + real + squall
  return [...found.values()].sort(
    (a, b) => errors(b) - errors(a) || b.calls - a.calls || (a.tool < b.tool ? -1 : 1),
  )
}
