import type { Snapshot } from './read-snapshot.ts'

type Tool = Snapshot['tools'][number]
type ByOrigin = Tool['calls']

/** Events per second. */
export interface Rates {
  readonly calls: number
  /** Errors that faults made. */
  readonly injected: number
  /** Errors of the app. */
  readonly real: number
  /** Errors that Squall itself made. */
  readonly squall: number
}

/** The rates of a sidecar, and of each of its tools. */
export interface SidecarRates extends Rates {
  readonly tools: ReadonlyMap<string, Rates>
}

const NO_CALLS: ByOrigin = { upstream: 0, injected: 0, squall: 0 }
const NOTHING: Rates = { calls: 0, injected: 0, real: 0, squall: 0 }
const ALL_MEMBERS = ['calls', 'injected', 'real', 'squall'] as const

/** Returns the rates between two snapshots; undefined when a process restarted between them. */
export function ratesBetween(
  before: Snapshot,
  now: Snapshot,
  heardMs: number,
): SidecarRates | undefined {
  const then = new Map(before.tools.map((tool) => [tool.tool, tool]))
  if (now.tools.some((tool) => fell(then.get(tool.tool), tool))) return undefined
  if (before.tools.length > now.tools.length) return undefined
  const seconds = elapsedSeconds(before.at, now.at, heardMs)
  const tools = new Map<string, Rates>()
  for (const tool of now.tools) tools.set(tool.tool, perSecond(then.get(tool.tool), tool, seconds))
  return { ...sumRates([...tools.values()]), tools }
}

/** All of them together. */
export function sumRates(all: readonly Rates[]): Rates {
  const sum = { ...NOTHING }
  for (const rates of all) for (const member of ALL_MEMBERS) sum[member] += rates[member]
  return sum
}

/** The sidecar's clock tells best, unless it was set meanwhile. */
function elapsedSeconds(
  before: number | undefined,
  now: number | undefined,
  heardMs: number,
): number {
  const elapsed = before === undefined || now === undefined ? 0 : now - before
  const isLikely = elapsed > 0 && Math.abs(elapsed - heardMs) < 2_000 + heardMs / 2
  return Math.max(isLikely ? elapsed : heardMs, 100) / 1_000
}

function perSecond(then: Tool | undefined, { calls, errors }: Tool, seconds: number): Rates {
  const before = then ?? { calls: NO_CALLS, errors: NO_CALLS }
  return {
    calls: (sumOf(calls) - sumOf(before.calls)) / seconds,
    injected: (errors.injected - before.errors.injected) / seconds,
    real: (errors.upstream - before.errors.upstream) / seconds,
    squall: (errors.squall - before.errors.squall) / seconds,
  }
}

/** Counts never fall while a process lives. */
function fell(then: Tool | undefined, now: Tool): boolean {
  if (then === undefined) return false
  return (['upstream', 'injected', 'squall'] as const).some(
    (origin) => now.calls[origin] < then.calls[origin] || now.errors[origin] < then.errors[origin],
  )
}

/** All of one count. */
export function sumOf({ upstream, injected, squall }: ByOrigin): number {
  return upstream + injected + squall
}
