import { integerText } from './text/shown-numbers.ts'

const MILLISECONDS: Readonly<Record<string, number>> = {
  // Without a unit, only 0 has one meaning.
  '': 1,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const BYTES: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

/** A duration: a number and its unit, or 0. */
export const DURATION_PATTERN = '^(0|[0-9]{1,9}(\\.[0-9]{1,3})?(ms|s|m|h|d))$'
/** A size: a number and its unit; bytes without a unit. */
export const SIZE_PATTERN = '^[0-9]{1,12}(B|kB|MB|GB|KiB|MiB|GiB)?$'
const PERCENT_NUMBER = '^(0?[0-9]{1,2}(\\.[0-9]{1,9})?|100(\\.0{1,9})?)'
/** A share in percent, with its sign or without. */
export const PERCENT_PATTERN = `${PERCENT_NUMBER}%?$`
/** A share with its sign, where a number is a share of 1. */
export const SIGNED_PERCENT_PATTERN = `${PERCENT_NUMBER}%$`

export const MAX_DURATION_MS = 30 * 86_400_000

/** A rate: calls per second, or with its unit. */
export const RATE_PATTERN = '^[0-9]{1,7}(\\.[0-9]{1,3})?(/(s|m))?$'
export const MAX_RATE = 1_000_000

/** A factor, such as `2x`. */
export const FACTOR_PATTERN = '^[0-9]{1,4}(\\.[0-9]{1,3})?x$'

const DURATION = new RegExp(DURATION_PATTERN)
const SIZE = new RegExp(SIZE_PATTERN)
const PERCENT = new RegExp(PERCENT_PATTERN)
const FACTOR = new RegExp(FACTOR_PATTERN)
const UNIT = /[a-zA-Z]+$/

/**
 * Parses `300ms`, `5s`, `1.5m` or `0` into milliseconds; undefined for other texts, and above
 * `most`.
 */
export function readDuration(text: string, most: number = MAX_DURATION_MS): number | undefined {
  if (!DURATION.test(text)) return undefined
  const ms = withUnit(text, MILLISECONDS)
  return ms <= most ? ms : undefined
}

/**
 * Parses `512B`, `8KiB`, `1MB`, `512` into bytes; undefined for other texts, and above the exact
 * integers.
 */
export function readSize(text: string): number | undefined {
  if (!SIZE.test(text)) return undefined
  const bytes = withUnit(text, BYTES)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** Parses `12.5%` or `12.5`; undefined for other texts, and above 100. */
export function readPercent(text: string): number | undefined {
  return PERCENT.test(text) ? Number(text.replace('%', '')) : undefined
}

/** Parses a factor such as `3x` or `1.5x`; undefined for other texts. */
export function readFactor(text: string): number | undefined {
  return FACTOR.test(text) ? Number(text.slice(0, -1)) : undefined
}

/**
 * Parses `200/s`, `30/m` or `200` into calls per second; undefined for other texts, for 0, and
 * above a million.
 */
export function readRate(text: string): number | undefined {
  if (!new RegExp(RATE_PATTERN).test(text)) return undefined
  const [number = '', unit] = text.split('/')
  const rate = Number(number) / (unit === 'm' ? 60 : 1)
  return rate > 0 && rate <= MAX_RATE ? rate : undefined
}

/** Returns a duration in the largest unit that keeps it whole. */
export function durationText(ms: number): string {
  if (ms >= 1000 && ms % 1000 !== 0) return `${ms / 1000}s`
  return inLargestUnit(ms, ['d', 'h', 'm', 's', 'ms'], MILLISECONDS)
}

/** Returns a duration to the nearest second; minutes, hours and days from two of them on. */
export function roundedDuration(ms: number): string {
  const units = ['d', 'h', 'm'].map((name) => MILLISECONDS[name]!)
  const unit = units.find((each) => ms >= 2 * each) ?? 1000
  const rounded = Math.round(ms / unit) * unit
  return rounded === 0 ? '0s' : durationText(rounded)
}

/** Returns a size in the largest binary unit that keeps it whole. */
export function sizeText(bytes: number): string {
  return inLargestUnit(bytes, ['GiB', 'MiB', 'KiB', 'B'], BYTES)
}

function inLargestUnit(
  value: number,
  units: readonly string[],
  factors: Readonly<Record<string, number>>,
): string {
  const unit = units.find((each) => {
    const factor = factors[each] ?? Infinity
    return value >= factor && value % factor === 0
  })
  return unit === undefined ? `${value}${units.at(-1)!}` : `${value / factors[unit]!}${unit}`
}

function withUnit(text: string, units: Readonly<Record<string, number>>): number {
  const unit = UNIT.exec(text)?.[0] ?? ''
  return Number(text.slice(0, text.length - unit.length)) * (units[unit] ?? Number.NaN)
}

/** Formats a number of things: `1 call`, `2,000 calls`. */
export const counted = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${integerText(count)} ${count === 1 ? noun : nouns}`
