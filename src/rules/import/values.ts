import { durationText } from '../../base/units.ts'
import { isGlob } from '../../base/glob.ts'
import { escaped, exactName } from '../match/text-match.ts'

const LONGEST_DEFAULT = 3_600_000

/** Returns milliseconds as a duration of rules: whole ones from a second on. */
export function msText(ms: number): string {
  return durationText(ms >= 1000 ? Math.round(ms) : Math.round(ms * 1000) / 1000)
}

/** Returns the parameters of a delay of a fixed length. */
export function fixedDelay(ms: number): Readonly<Record<string, string>> {
  const fixed = msText(ms)
  return ms > LONGEST_DEFAULT ? { fixed, max: fixed } : { fixed }
}

/** Returns the match of exact names. */
export function exactNames(names: readonly string[]): unknown {
  const list = names.map(exactName)
  return list.length === 1 ? list[0] : list
}

/** Returns the match of names that begin with a text. */
export function prefixName(prefix: string): string | { readonly regex: string } {
  return isGlob(prefix) ? { regex: `^${escaped(prefix)}` } : `${prefix}*`
}

/** Returns the key for a share from 0 to 1; none for all calls. */
export function sharedBy(probability: number): { readonly probability?: number } {
  return probability === 1 ? {} : { probability }
}

/** Returns the key for a share in percent; none for all calls. */
export function percentOf(percent: number): { readonly percent?: number | string } {
  if (percent === 100) return {}
  // A part of 1 % without the sign gets a warning of `squall validate`. Smaller ones have exponents.
  return { percent: percent < 1 && percent >= 1e-6 ? `${percent}%` : percent }
}

const GO_DURATION = /^(?:\d{1,12}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h))+$/
const GO_PART = /([\d.]+)(ns|us|µs|ms|s|m|h)/g
const MILLISECONDS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** Parses a duration of Go or of protocol buffers, such as `1m30s`, into milliseconds. */
export function goDuration(text: string): number | undefined {
  if (text.length > 64 || !GO_DURATION.test(text)) return undefined
  const parts = [...text.matchAll(GO_PART)]
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * MILLISECONDS[unit!]!, 0)
}
