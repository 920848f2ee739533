import type { SidecarView } from './sidecar-view.ts'
import type { Rates } from './rates.ts'

const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const LEVELS = '▁▂▃▄▅▆▇█'

/** A count, short where it is large. */
export function count(value: number): string {
  return value < 100_000 ? String(Math.round(value)) : SHORT.format(value)
}

/** A number per second, or a dash where nobody knows it. */
export function rate(value: number | undefined): string {
  if (value === undefined) return '-'
  if (value === 0) return '0'
  if (value < 0.05) return '<0.1'
  return value < 100 ? value.toFixed(1) : count(value)
}

/** The time of day of an ISO time, in UTC. */
export function timeOfDay(iso: string): string {
  return /T(\d\d:\d\d:\d\d)/.exec(iso)?.[1] ?? '-'
}

/** The beginning of a digest, as much as tells versions apart. */
export function shortDigest(digest: string): string {
  return digest === '' ? 'none' : digest.slice(0, 8)
}

/** Counts the calls that the rules of a sidecar sampled. */
export function sampledCalls({ snapshot }: SidecarView): number {
  return snapshot?.rules.reduce((sum, rule) => sum + rule.sampled, 0) ?? 0
}

/** Bars for the newest values, the lowest for nothing, a gap where nothing was heard. */
export function sparkline(
  trend: readonly (Rates | undefined)[],
  of: 'injected' | 'real',
  width: number,
): string {
  const shown = trend.slice(-width)
  // One scale for both: they are there to be compared.
  const top = Math.max(0, ...shown.flatMap((rates) => [rates?.injected ?? 0, rates?.real ?? 0]))
  const bars = shown.map((rates) => (rates === undefined ? ' ' : bar(rates[of], top)))
  return bars.join('').padStart(width)
}

function bar(value: number, top: number): string {
  if (value <= 0) return LEVELS[0]!
  return LEVELS[Math.max(1, Math.ceil((value / top) * 8) - 1)] ?? LEVELS[7]!
}
