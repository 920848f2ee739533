import { quoted } from '../../base/text/foreign-text.ts'
import { readPercent } from '../../base/units.ts'
import { UsageError } from './usage-error.ts'

/** What a number on the command line may be. */
export interface Range {
  readonly min: number
  readonly max: number
}

const DURATION_UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
])
const SIZE_UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['KiB', 1024],
  ['MiB', 1024 ** 2],
  ['GiB', 1024 ** 3],
])
const DURATION_FORM = 'write a whole number with its unit: 300ms, 5s, 10m or 1h'
const SIZE_FORM = 'write a whole number of bytes, or one with its unit: 1024, 64KiB or 4MiB'

/** Milliseconds from `300ms`, `5s`, `10m` or `1h`. `source` names where the text came from. */
export function parseDuration(text: string, source: string, range: Range): number {
  const value = withUnit(text, DURATION_UNITS)
  if (value === undefined) {
    throw new UsageError('BAD_VALUE', `${source}: ${quoted(text)} is not a duration`, DURATION_FORM)
  }
  return inRange(value, text, source, range, formatDuration)
}

/** Bytes from `1024`, `64KiB`, `4MiB` or `1GiB`. */
export function parseSize(text: string, source: string, range: Range): number {
  const value = withUnit(text, SIZE_UNITS)
  if (value === undefined) {
    throw new UsageError('BAD_VALUE', `${source}: ${quoted(text)} is not a size`, SIZE_FORM)
  }
  return inRange(value, text, source, range, formatSize)
}

/** A whole number in plain digits. */
export function parseCount(text: string, source: string, range: Range): number {
  const value = withUnit(text, new Map([['', 1]]))
  if (value === undefined) {
    throw new UsageError(
      'BAD_VALUE',
      `${source}: ${quoted(text)} is not a whole number`,
      'write plain digits, such as 10000',
    )
  }
  return inRange(value, text, source, range, String)
}

/** A share in percent, from `20%`, `12.5%` or `20`. */
export function parsePercent(text: string, source: string, range: Range): number {
  const value = readPercent(text.endsWith('%') ? text : `${text}%`)
  if (value !== undefined) return inRange(value, text, source, range, (percent) => `${percent}%`)
  throw new UsageError(
    'BAD_VALUE',
    `${source}: ${quoted(text)} is not a percentage`,
    'write a number from 0 to 100, such as 20%',
  )
}

/** One of a few words. */
export function parseChoice<Word extends string>(
  text: string,
  source: string,
  words: readonly Word[],
): Word {
  const word = words.find((candidate) => candidate === text)
  if (word !== undefined) return word
  throw new UsageError(
    'BAD_VALUE',
    `${source}: ${quoted(text)} is not known`,
    `use one of ${words.join(', ')}`,
  )
}

/** A duration in the largest unit that keeps it whole. */
export function formatDuration(ms: number): string {
  return inLargestUnit(ms, DURATION_UNITS)
}

/** A size in the largest unit that keeps it whole. */
export function formatSize(bytes: number): string {
  return inLargestUnit(bytes, SIZE_UNITS)
}

function withUnit(text: string, units: ReadonlyMap<string, number>): number | undefined {
  const match = /^(\d{1,15})([A-Za-z]{0,3})$/.exec(text)
  const factor = units.get(match?.[2] ?? '')
  return match?.[1] === undefined || factor === undefined ? undefined : Number(match[1]) * factor
}

function inRange(
  value: number,
  text: string,
  source: string,
  range: Range,
  format: (value: number) => string,
): number {
  if (value >= range.min && value <= range.max) return value
  throw new UsageError(
    'BAD_VALUE',
    `${source}: ${quoted(text)} is out of range`,
    `use ${format(range.min)} to ${format(range.max)}`,
  )
}

function inLargestUnit(value: number, units: ReadonlyMap<string, number>): string {
  for (const [unit, factor] of [...units].toReversed()) {
    if (value % factor === 0 && value >= factor) return `${value / factor}${unit}`
  }
  return `${value}${units.keys().next().value ?? ''}`
}
