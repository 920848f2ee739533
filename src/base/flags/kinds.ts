import { quoted } from '../text/foreign-text.ts'
import { durationText, readPercent, readDuration, readSize, sizeText } from '../units.ts'
import type { FlagInput, Kind } from './flag.ts'
import { invalidOption, invalidValue, missing } from './usage-error.ts'

/** The allowed range of a number. */
export interface NumberRange {
  readonly min: number
  readonly max: number
}

interface Rest {
  readonly short?: string
  readonly repeatable?: boolean
  readonly default?: string
  /** The fix where the option is missing. */
  readonly required?: string
}

type Always = { readonly default: string } | { readonly required: string }

/** Declares a switch. */
export function toggle(
  help: string,
  rest: { readonly short?: string; readonly default?: 'true' } = {},
): Kind<boolean> {
  return {
    help,
    ...rest,
    read: (given) => {
      const value = given.at(-1)
      if (value === undefined || value.text === 'false' || value.text === '0') return false
      if (value.text === 'true' || value.text === '1') return true
      throw invalidValue(value, 'is not a valid boolean', 'use true or false')
    },
  }
}

/** Declares an option with one value: the last one, because later options override earlier ones. */
export function one<T>(
  value: string,
  help: string,
  parse: (given: FlagInput) => T,
  rest: Rest & Always,
): Kind<T>
export function one<T>(
  value: string,
  help: string,
  parse: (given: FlagInput) => T,
  rest?: Rest,
): Kind<T | undefined>
export function one<T>(
  value: string,
  help: string,
  parse: (given: FlagInput) => T,
  { required, ...rest }: Rest = {},
): Kind<T | undefined> {
  return {
    value,
    help,
    ...rest,
    read: (given, name) => {
      const last = given.at(-1)
      if (last === undefined && required !== undefined) {
        throw missing(`--${name} is missing`, required)
      }
      return last && parse(last)
    },
  }
}

/** Declares an option that may be repeated. */
export function many<T>(
  value: string,
  help: string,
  parse: (given: readonly FlagInput[]) => T,
  rest: Rest = {},
): Kind<T> {
  return { value, help, repeatable: true, ...rest, read: parse }
}

/** Parses a value as it is written. */
export function asText({ text }: FlagInput): string {
  return text
}

/** Parses a value with its source, for options that are checked together. */
export function asGiven<T>(given: T): T {
  return given
}

/** Declares an option whose value is parsed within limits; without a default it may be missing. */
function limited<Limits, T>(placeholder: string, parse: (given: FlagInput, limits: Limits) => T) {
  function kind(help: string, limits: Limits, fallback: string): Kind<T>
  function kind(help: string, limits: Limits): Kind<T | undefined>
  function kind(help: string, limits: Limits, fallback?: string): Kind<T | undefined> {
    const rest = fallback === undefined ? {} : { default: fallback }
    return one(placeholder, help, (given) => parse(given, limits), rest)
  }
  return kind
}

export const duration = limited('duration', parseDuration)
export const size = limited('size', parseSize)
export const count = limited('number', parseCount)
export const percent = limited('percent', parsePercent)

const DURATION_FORM = 'use a number with a unit, such as 300ms, 1.5s, 10m, 1h or 2d'
const SIZE_FORM = 'use a number of bytes or an integer with a unit, such as 1024, 64KiB or 4MB'

/** Parses a duration into whole milliseconds: `300ms`, `1.5s`, `10m`, `1h` or `2d`. */
export function parseDuration(given: FlagInput, range: NumberRange): number {
  const value = readDuration(given.text, Number.MAX_SAFE_INTEGER)
  if (value === undefined) throw invalidValue(given, 'is not a valid duration', DURATION_FORM)
  return inRange(Math.round(value), given, range, durationText)
}

/** Parses a size into bytes: `1024`, `64KiB`, `4MB` or `1GiB`. */
export function parseSize(given: FlagInput, range: NumberRange): number {
  const value = readSize(given.text)
  if (value === undefined) throw invalidValue(given, 'is not a valid size', SIZE_FORM)
  return inRange(value, given, range, sizeText)
}

/** Parses an integer in plain digits. */
export function parseCount(given: FlagInput, range: NumberRange): number {
  if (!/^\d{1,15}$/.test(given.text)) {
    throw invalidValue(given, 'is not a valid integer', 'use digits only, such as 10000')
  }
  return inRange(Number(given.text), given, range, String)
}

/** Parses a share in percent: `20%`, `12.5%` or `20`. */
export function parsePercent(given: FlagInput, range: NumberRange): number {
  const value = readPercent(given.text)
  if (value !== undefined) return inRange(value, given, range, (share) => `${share}%`)
  throw invalidValue(given, 'is not a valid percentage', 'use a number from 0 to 100, such as 20%')
}

/** Returns a parser for one of the given words. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return (given: FlagInput): Word => {
    const word = words.find((candidate) => candidate === given.text)
    if (word !== undefined) return word
    throw invalidValue(given, 'is not supported', `use one of ${words.join(', ')}`)
  }
}

/** Returns a parser for a path, which names the file in the error. */
export function pathTo(fix: string) {
  return (given: FlagInput): string => {
    if (given.text !== '' && !given.text.includes('\u0000')) return given.text
    throw invalidValue(given, 'is not a valid path', fix)
  }
}

/** Returns a parser for `key=value`, repeated, as one object. */
export function pairs(all: readonly FlagInput[]): Readonly<Record<string, string>> {
  const values = new Map<string, string>()
  for (const given of all) {
    const at = given.text.indexOf('=')
    if (at < 1) throw invalidValue(given, 'is not a valid key=value pair', 'use key=value')
    const key = given.text.slice(0, at)
    if (values.has(key)) {
      throw invalidOption(given.source, `${quoted(key)} is set twice`, 'set each key once')
    }
    values.set(key, given.text.slice(at + 1))
  }
  return Object.fromEntries(values)
}

/** Returns the elements of lists with commas; undefined without a list. */
export function elementsOf(
  lists: readonly FlagInput[],
  fix: string,
): readonly FlagInput[] | undefined {
  if (lists.length === 0) return undefined
  return lists.flatMap((list) =>
    list.text.split(',').map((part) => {
      const text = part.trim()
      if (text !== '') return { text, source: list.source }
      throw invalidValue(list, 'has an empty element', fix)
    }),
  )
}

/** Throws a `UsageError` for more values than `most`. */
export function atMost(most: number, all: readonly FlagInput[], fix = ''): void {
  if (all.length <= most) return
  throw invalidOption(all[0]!.source, 'too many', `use at most ${most}${fix}`)
}

function inRange(
  value: number,
  given: FlagInput,
  range: NumberRange,
  format: (value: number) => string,
): number {
  if (value >= range.min && value <= range.max) return value
  throw invalidValue(given, 'is out of range', `use ${format(range.min)} to ${format(range.max)}`)
}
