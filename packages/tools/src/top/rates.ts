import type { Snapshot } from './read-snapshot.ts'

type Tool = Snapshot['tools'][number]
type ByOrigin = Tool['calls']

export interface Rates {
  readonly calls: number
  /** Errors that faults injected. */
  readonly injected: number
  /** Errors of the MCP server. */
  readonly real: number
  /** Errors of Squall itself. */
  readonly squall: number
}

export interface SidecarRates extends Rates {
  readonly tools: ReadonlyMap<string, Rates>
}

const ORIGINS = ['real', 'injected', 'squall', 'injected_elsewhere'] as const
const NO_CALLS: ByOrigin = { real: 0, injected: 0, squall: 0, injected_elsewhere: 0 }
const NOTHING: Rates = { calls: 0, injected: 0, real: 0, squall: 0 }
export const RATES = ['calls', 'injected', 'real', 'squall'] as const

/** Returns the rates between two snapshots; undefined when the sidecar restarted between them. */
export function ratesBetween(
  before: Snapshot,
  now: Snapshot,
  localMs: number,
): SidecarRates | undefined {
  const previous = new Map(before.tools.map((tool) => [tool.tool, tool]))
  if (now.tools.some((tool) => decreased(previous.get(tool.tool), tool))) return undefined
  if (before.tools.length > now.tools.length) return undefined
  const seconds = elapsedSeconds(before.at, now.at, localMs)
  const tools = new Map<string, Rates>()
  for (const tool of now.tools)
    tools.set(tool.tool, perSecond(previous.get(tool.tool), tool, seconds))
  return { ...sumRates([...tools.values()]), tools }
}

export function sumRates(all: readonly Rates[]): Rates {
  const sum = { ...NOTHING }
  for (const rates of all) for (const name of RATES) sum[name] += rates[name]
  return sum
}

/** Prefers the clock of the sidecar, unless that clock was adjusted. */
function elapsedSeconds(
  before: number | undefined,
  now: number | undefined,
  localMs: number,
): number {
  const elapsed = before === undefined || now === undefined ? 0 : now - before
  const isPlausible = elapsed > 0 && Math.abs(elapsed - localMs) < 2_000 + localMs / 2
  return Math.max(isPlausible ? elapsed : localMs, 100) / 1_000
}

function perSecond(previous: Tool | undefined, { calls, errors }: Tool, seconds: number): Rates {
  const before = previous ?? { calls: NO_CALLS, errors: NO_CALLS }
  return {
    calls: (sumOf(calls) - sumOf(before.calls)) / seconds,
    injected: (errors.injected - before.errors.injected) / seconds,
    real: (errors.real - before.errors.real) / seconds,
    squall: (errors.squall - before.errors.squall) / seconds,
  }
}

/** Returns true when a count decreased, which means that the process restarted. */
function decreased(previous: Tool | undefined, now: Tool): boolean {
  if (previous === undefined) return false
  return ORIGINS.some(
    (origin) =>
      now.calls[origin] < previous.calls[origin] || now.errors[origin] < previous.errors[origin],
  )
}

export function sumOf(counts: ByOrigin): number {
  return ORIGINS.reduce((sum, origin) => sum + counts[origin], 0)
}
