import {
  durationText,
  readBarePercent,
  readDuration,
  readSize,
  sizeText,
} from '../../base/units.ts'
import type { Given } from './flag-values.ts'
import { badValue } from './usage-error.ts'

/** The allowed range of a number. */
export interface Range {
  readonly min: number
  readonly max: number
}

const DURATION_FORM = 'write a number with its unit, such as 300ms, 1.5s, 10m, 1h or 2d'
const SIZE_FORM = 'write an integer of bytes, or one with its unit, such as 1024, 64KiB or 4MB'

/** Parses a duration into whole milliseconds: `300ms`, `1.5s`, `10m`, `1h` or `2d`. */
export function parseDuration(given: Given, range: Range): number {
  const value = readDuration(given.text, Number.MAX_SAFE_INTEGER)
  if (value === undefined) throw badValue(given, 'is not a duration', DURATION_FORM)
  return inRange(Math.round(value), given, range, durationText)
}

/** Parses a size into bytes: `1024`, `64KiB`, `4MB` or `1GiB`. */
export function parseSize(given: Given, range: Range): number {
  const value = readSize(given.text)
  if (value === undefined) throw badValue(given, 'is not a size', SIZE_FORM)
  return inRange(value, given, range, sizeText)
}

/** Parses an integer in plain digits. */
export function parseCount(given: Given, range: Range): number {
  if (!/^\d{1,15}$/.test(given.text)) {
    throw badValue(given, 'is not an integer', 'write plain digits, such as 10000')
  }
  return inRange(Number(given.text), given, range, String)
}

/** Parses a share in percent: `20%`, `12.5%` or `20`. */
export function parsePercent(given: Given, range: Range): number {
  const value = readBarePercent(given.text)
  if (value !== undefined) return inRange(value, given, range, (percent) => `${percent}%`)
  throw badValue(given, 'is not a percentage', 'write a number from 0 to 100, such as 20%')
}

/** Parses one of the given words. */
export function parseChoice<Word extends string>(given: Given, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === given.text)
  if (word !== undefined) return word
  throw badValue(given, 'is not known', `use one of ${words.join(', ')}`)
}

function inRange(
  value: number,
  given: Given,
  range: Range,
  format: (value: number) => string,
): number {
  if (value >= range.min && value <= range.max) return value
  throw badValue(given, 'is out of range', `use ${format(range.min)} to ${format(range.max)}`)
}
