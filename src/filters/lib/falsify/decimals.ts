import type { TextEdit } from '../../../base/json/json-edit.ts'

/** An exact number without its sign: `units` / 10 ** `decimals`. */
export interface Decimal {
  readonly units: bigint
  readonly decimals: number
}

/** Digits that recognise a number. Fewer occur by chance. */
const ENOUGH_DIGITS = 5
/** Fewer digits of a rounded number could be another number. */
const ROUNDED_DIGITS = 3
/** Longer runs of digits are no amounts, and would cost time. */
const MAX_RUN = 40

/** A digit and what follows it in a number; each character is read once. */
const RUN = /\d(?:\d|[.,'’\u00A0\u202F](?=\d))*/g

/** Separators of groups and of decimals, the usual ones first. */
const WRITTEN = [
  ['', '.'],
  [',', '.'],
  ['.', ','],
  ['', ','],
  ["'", '.'],
  ['’', '.'],
  ['\u00a0', ','],
  ['\u202f', ','],
] as const

/** A number in a text, as one of the ways to read it. */
export interface Reading {
  readonly start: number
  readonly end: number
  readonly value: Decimal
  readonly group: string
  readonly point: string
}

/** Parses a JSON number without an exponent, and ignores its sign; undefined for other texts. */
export function readDecimal(text: string): Decimal | undefined {
  const [, whole, part = ''] = /^-?(\d{1,30})(?:\.(\d{1,20}))?$/.exec(text) ?? []
  return whole === undefined ? undefined : decimalOf(whole + part, part.length)
}

function decimalOf(digits: string, decimals: number): Decimal {
  return { units: BigInt(digits), decimals }
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
  if (to >= decimals) return { units: units * 10n ** BigInt(to - decimals), decimals: to }
  const step = 10n ** BigInt(decimals - to)
  return { units: (units + step / 2n) / step, decimals: to }
}

export function isSame(a: Decimal, b: Decimal): boolean {
  const most = Math.max(a.decimals, b.decimals)
  return withDecimals(a, most).units === withDecimals(b, most).units
}

/** Returns true for a number that would hardly occur by chance. */
export function isDistinctNumber({ units }: Decimal): boolean {
  return String(units).replace(/0+$/, '').length >= ENOUGH_DIGITS
}

/** Returns true for a number that is neither a year nor as short as an index. */
export function isAmount({ units, decimals }: Decimal): boolean {
  return decimals > 0 || (units >= 10n && (units < 1900n || units > 2100n))
}

/** Returns all readings of all numbers in a text, without dates, times, versions and names. */
export function readingsIn(text: string): readonly Reading[] {
  return [...text.matchAll(RUN)].flatMap(({ 0: run, index }) => {
    const end = index + run.length
    if (run.length > MAX_RUN || !standsAlone(text, index, end)) return []
    return WRITTEN.flatMap(([group, point]) => {
      const value = parse(run, group, point)
      return value === undefined ? [] : [{ start: index, end, value, group, point }]
    })
  })
}

function standsAlone(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 2), start)
  const after = text.slice(end, end + 2)
  // A minus follows no other character than a space or a sign of a currency.
  return !/[\p{L}\p{N}_.,:/-][-/:.]$|[\p{L}_:/\\#]$/u.test(before) && !/^[-/:_]\w|^\d/.test(after)
}

function parse(run: string, group: string, point: string): Decimal | undefined {
  const at = run.indexOf(point)
  const [whole, part] = at < 0 ? [run, ''] : [run.slice(0, at), run.slice(at + 1)]
  if (at >= 0 && !/^\d+$/.test(part)) return undefined
  const groups = group === '' ? [whole] : whole.split(group)
  const isGrouped = groups.length > 1 && groups.slice(1).every((each) => /^\d{3}$/.test(each))
  if (group !== '' && !(isGrouped && /^\d{1,3}$/.test(groups[0]!))) return undefined
  const digits = groups.join('')
  return /^(?:0|[1-9]\d*)$/.test(digits) ? decimalOf(digits + part, part.length) : undefined
}

/** Replaces a number in a text, however it is written, also where it is rounded. */
export function numberEdits(text: string, from: Decimal, to: Decimal): readonly TextEdit[] {
  let end = 0
  return readingsIn(text).flatMap((reading) => {
    const { start, value, group, point } = reading
    if (start < end || !isCopy(value, from)) return []
    end = reading.end
    return [{ start, end, text: writeDecimal(withDecimals(to, value.decimals), group, point) }]
  })
}

function isCopy(value: Decimal, from: Decimal): boolean {
  if (isSame(value, from)) return true
  const isShort = String(value.units).length < ROUNDED_DIGITS
  return (
    !isShort && value.decimals < from.decimals && isSame(value, withDecimals(from, value.decimals))
  )
}

/**
 * Proposes other numbers that differ by about a share: with as many digits as are needed to
 * recognise them, and else as round as the number itself. None is the number, or 0.
 */
export function wrongNumbers(
  { units, decimals }: Decimal,
  share: number,
  random: () => number,
): readonly Decimal[] {
  if (units === 0n) return []
  const up = random() < 0.5 ? 1n : -1n
  const jitter = 0.9 + 0.2 * random()
  const step = (factor: number): bigint => {
    const exact = (units * BigInt(Math.round(share * factor * 1e6))) / 1_000_000n
    return exact === 0n ? 1n : exact
  }
  const zeros = /0*$/.exec(String(units))![0].length
  const grain = 10n ** BigInt(zeros)
  const round = (step(1) / grain || 1n) * grain
  const odd = (value: bigint): bigint => (value % 10n === 0n ? value + 3n : value)
  const proposed = [
    ...[up, -up].map((sign) => odd(units + sign * step(jitter))),
    ...[up, -up].map((sign) => units + sign * step(1)),
    ...[up, -up].map((sign) => units + sign * round),
  ]
  return proposed
    .filter((value) => value > 0n && value !== units)
    .map((value) => ({ units: value, decimals }))
}
