import type { SidecarView } from './sidecar-view.ts'
import type { Rates } from './rates.ts'

const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const LEVELS = '▁▂▃▄▅▆▇█'

/** Formats a count; large counts are abbreviated. */
export function count(value: number): string {
  return value < 100_000 ? String(Math.round(value)) : SHORT.format(value)
}

/** Formats a rate; an unknown rate is a dash. */
export function rate(value: number | undefined): string {
  if (value === undefined) return '-'
  if (value === 0) return '0'
  if (value < 0.05) return '<0.1'
  return value < 100 ? value.toFixed(1) : count(value)
}

/** Returns the UTC time of day of an ISO 8601 time. */
export function timeOfDay(iso: string): string {
  return /T(\d\d:\d\d:\d\d)/.exec(iso)?.[1] ?? '-'
}

/** Counts the calls that the rules of a sidecar sampled. */
export function sampledCalls({ snapshot }: SidecarView): number {
  return snapshot?.rules.reduce((sum, rule) => sum + rule.sampled, 0) ?? 0
}

/** Draws a bar per second: the lowest bar for zero, a gap where no snapshot arrived. */
export function sparkline(
  trend: readonly (Rates | undefined)[],
  of: 'injected' | 'real',
  width: number,
): string {
  const shown = trend.slice(-width)
  // Both sparklines have one scale, so that they can be compared.
  const top = Math.max(0, ...shown.flatMap((rates) => [rates?.injected ?? 0, rates?.real ?? 0]))
  const bars = shown.map((rates) => (rates === undefined ? ' ' : bar(rates[of], top)))
  return bars.join('').padStart(width)
}

function bar(value: number, top: number): string {
  if (value <= 0) return LEVELS[0]!
  return LEVELS[Math.max(1, Math.ceil((value / top) * 8) - 1)] ?? LEVELS[7]!
}
