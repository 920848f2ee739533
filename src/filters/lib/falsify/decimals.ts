import type { TextEdit } from '../../../base/json/json-edit.ts'
import { NUMBER, type Reading, readings } from '../../../base/text/written-values.ts'

/** An exact number without its sign: `units` / 10 ** `decimals`. */
export interface Decimal {
  readonly units: bigint
  readonly decimals: number
}

/** Digits that recognise a number, and digits that recognise a rounded one. */
const ENOUGH_DIGITS = 5
const ROUNDED_DIGITS = 3
/** Limits the digits of a number: longer ones would cost time. */
const MAX_RUN = 40

/** A number in a text, in one of the ways to read it. */
export interface ReadNumber extends TextEdit, Pick<Reading, 'group' | 'point'> {
  readonly value: Decimal
}

/** Parses a JSON number without an exponent, and ignores its sign; undefined for other texts. */
export function readDecimal(text: string): Decimal | undefined {
  if (text.length > MAX_RUN) return undefined
  const [, whole = '', part = ''] = /^-?(0|[1-9]\d*)(?:\.(\d+))?$/.exec(text) ?? []
  return whole === '' ? undefined : { units: BigInt(whole + part), decimals: part.length }
}

/** Writes a number with separators; all digits after the point are written. */
export function writeDecimal({ units, decimals }: Decimal, group = '', point = '.'): string {
  const digits = String(units).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const grouped = group === '' ? whole : whole.replace(/\B(?=(?:\d{3})+$)/g, group)
  return decimals === 0 ? grouped : grouped + point + digits.slice(-decimals)
}

/** Returns a number with more or fewer decimals, rounded half up. */
export function withDecimals({ units, decimals }: Decimal, to: number): Decimal {
  const step = 10n ** BigInt(Math.abs(decimals - to))
  return { units: to < decimals ? (units + step / 2n) / step : units * step, decimals: to }
}

export function isSame(a: Decimal, b: Decimal): boolean {
  const most = Math.max(a.decimals, b.decimals)
  return withDecimals(a, most).units === withDecimals(b, most).units
}

/** Returns true for a number that would hardly occur by chance. */
export function isDistinctNumber({ units }: Decimal): boolean {
  return String(units).replace(/0+$/, '').length >= ENOUGH_DIGITS
}

/** Returns all readings of all numbers in a text, without dates, times, versions and names. */
export function readingsIn(text: string): readonly ReadNumber[] {
  return [...text.matchAll(NUMBER)].flatMap(({ 0: all, 1: token = '', index }) => {
    const start = index + all.indexOf(token)
    const end = start + token.length
    const before = text.slice(Math.max(0, index - 2), index)
    const isPart =
      /[\p{L}_\\#/]$|\p{L}-$|\d:$/u.test(before) || /^_\w/.test(text.slice(end, end + 2))
    if (token.length > MAX_RUN || isPart || /^0\d/.test(token)) return []
    return readings(token).map(({ digits, decimals, group, point }) => {
      const value = { units: BigInt(digits), decimals }
      return { start, end, text: token, value, group, point }
    })
  })
}

/** Replaces a number in a text, however it is written, also where it is rounded. */
export function numberEdits(text: string, from: Decimal, to: Decimal): readonly TextEdit[] {
  let done = 0
  return readingsIn(text).flatMap(({ start, end, value, group, point }) => {
    const { units, decimals } = value
    const isRounded = decimals < from.decimals && String(units).length >= ROUNDED_DIGITS
    const compared = isRounded ? withDecimals(from, decimals) : from
    if (start < done || !isSame(value, compared)) return []
    done = end
    return [{ start, end, text: writeDecimal(withDecimals(to, decimals), group, point) }]
  })
}

/**
 * Proposes other numbers that differ by a share: with as many digits as are needed to recognise
 * them, and else exactly, or as round as the number itself.
 */
export function wrongNumbers(
  { units, decimals }: Decimal,
  share: number,
  random: () => number,
): readonly Decimal[] {
  const exact = (units * BigInt(Math.round(share * 1e6))) / 1_000_000n || 1n
  const grain = 10n ** BigInt(/0*$/.exec(String(units))![0].length)
  const round = (exact / grain || 1n) * grain
  const up = random() < 0.5 ? 1n : -1n
  const both = (by: bigint): readonly bigint[] => [units + up * by, units - up * by]
  const odd = both(exact).map((each) => (each % 10n === 0n ? each + 3n : each))
  return [...odd, ...both(exact), ...both(round)]
    .filter((each) => units > 0n && each > 0n && each !== units)
    .map((each) => ({ units: each, decimals }))
}
