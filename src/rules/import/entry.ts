import { quoted } from '../../base/text/foreign-text.ts'
import { RegexError } from '../../base/regex/regex-error.ts'
import { SafeRegex } from '../../base/regex/safe-regex.ts'
import { nearestName } from '../../base/nearest-name.ts'
import { isRecord } from '../../base/values.ts'
import { type Path, shownValue } from '../file/problem.ts'
import type { Field, Shape } from './fields.ts'
import type { Report } from './report.ts'
import { goDuration } from './values.ts'

/** The allowed range of a number. */
export interface Limits {
  readonly min?: number
  readonly max?: number
}

/** A value of a list, with its path. */
export interface Item {
  readonly value: unknown
  readonly path: Path
}

/** The notation of keys: as declared, or in camelCase and snake_case alike. */
export type Spelling = 'exact' | 'camelCase or snake_case'

/** More reasons would not help. */
const MAX_DOUBTS = 20
const DECIMAL = /^\d{1,15}(?:\.\d{1,9})?$/

const isString = (value: unknown): value is string => typeof value === 'string'

/**
 * Reads one foreign object by its shape. Reports unknown keys and those that are left out, and
 * values of a wrong type as errors; the value that is returned then does not matter.
 */
export class Entry<Key extends string> {
  readonly path: Path
  /** The reasons for which rules of this object might act on more calls than the source. */
  readonly doubts: string[]
  readonly report: Report
  readonly #values: Readonly<Record<string, unknown>>
  /** The written key of each declared one. */
  readonly #written = new Map<string, string>()
  readonly #spelling: Spelling

  constructor(
    report: Report,
    value: unknown,
    path: Path,
    { fields }: Shape<Key>,
    spelling: Spelling = 'exact',
    doubts: string[] = [],
  ) {
    this.report = report
    this.path = path
    this.doubts = doubts
    this.#spelling = spelling
    this.#values = isRecord(value) ? value : {}
    if (!isRecord(value)) report.problem('wrong_type', needs('an object', value), path)
    const declared: Readonly<Record<string, Field>> = fields
    const keys = new Map(Object.keys(declared).map((key) => [spelled(key, spelling), key]))
    for (const key of Object.keys(this.#values)) this.#take(key, keys, declared)
  }

  #take(
    key: string,
    keys: ReadonlyMap<string, string>,
    declared: Readonly<Record<string, Field>>,
  ): void {
    const { report } = this
    const at = [...this.path, key]
    const known = keys.get(spelled(key, this.#spelling))
    if (known === undefined) {
      const near = report.isFull ? undefined : nearestName(key, Object.keys(declared))
      const hint = near === undefined ? '' : `; did you mean ${quoted(near)}?`
      report.note('unknown', `unknown field${hint}`, at, true)
      this.#suspect(`unknown field ${quoted(key)}`)
      return
    }
    if (this.#written.has(known)) report.problem('duplicate_key', 'duplicate field', at)
    this.#written.set(known, key)
    const field = declared[known]
    if (field === undefined || !('why' in field)) return
    report.note('left_out', field.why, at, true)
    if (field.limits) this.#suspect(`${quoted(key)}: ${field.why}`)
  }

  at(key: Key): Path {
    return [...this.path, this.#written.get(key) ?? key]
  }

  has(key: Key): boolean {
    return this.raw(key) !== undefined
  }

  /** Returns the value of a key; undefined without one, and for null. */
  raw(key: Key): unknown {
    const written = this.#written.get(key)
    const value = written === undefined ? undefined : this.#values[written]
    return value ?? undefined
  }

  /** Reads a number. Without a fallback, the key is required. */
  number(key: Key, fallback?: number, { min = -Infinity, max = Infinity }: Limits = {}): number {
    const value = this.raw(key)
    if (value === undefined) return fallback ?? this.#missing(key, 'a number', 0)
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      return this.#wrong(key, 'a number', value, 0)
    }
    if (value >= min && value <= max) return value
    const range = max === Infinity ? `from ${min}` : `from ${min} to ${max}`
    this.report.problem('out_of_range', `must be ${range}; got ${value}`, this.at(key))
    return min
  }

  /** Reads a number that may be written as a string, as in JSON of protocol buffers. */
  amount(key: Key, fallback?: number, range: Limits = {}): number {
    const value = this.raw(key)
    if (!isString(value)) return this.number(key, fallback, range)
    const { min = -Infinity, max = Infinity } = range
    const number = DECIMAL.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    return this.#wrong(key, `a number from ${min} to ${max}`, value, 0)
  }

  /** Reads a duration such as `1m30s` into milliseconds; undefined without the key. */
  duration(key: Key): number | undefined {
    if (!this.has(key)) return undefined
    const ms = goDuration(this.text(key))
    return ms ?? this.#wrong(key, 'a duration such as 300ms or 1m30s', this.raw(key), 0)
  }

  text(key: Key, fallback?: string): string {
    const value = this.raw(key)
    if (value === undefined) return fallback ?? this.#missing(key, 'a string', '')
    return isString(value) ? value : this.#wrong(key, 'a string', value, '')
  }

  flag(key: Key, fallback: boolean): boolean {
    const value = this.raw(key)
    if (value === undefined) return fallback
    return typeof value === 'boolean' ? value : this.#wrong(key, 'true or false', value, fallback)
  }

  /** Reads a list of strings; empty without the key. */
  texts(key: Key): readonly string[] {
    return this.items(key).flatMap(({ value, path }) => {
      if (isString(value)) return [value]
      this.report.problem('wrong_type', needs('a string', value), path)
      return []
    })
  }

  /** Reads an object of strings; empty without the key. */
  pairs(key: Key): readonly (readonly [string, string])[] {
    const value = this.raw(key) ?? {}
    if (!isRecord(value)) return this.#wrong(key, 'an object', value, [])
    return Object.entries(value).flatMap(([name, each]) => {
      if (isString(each)) return [[name, each] as const]
      this.report.problem('wrong_type', needs('a string', each), [...this.at(key), name])
      return []
    })
  }

  /** Returns the values of a list with their paths; none without the key. */
  items(key: Key): readonly Item[] {
    const value = this.raw(key) ?? []
    if (!Array.isArray(value)) return this.#wrong(key, 'a list', value, [])
    const list: readonly unknown[] = value
    return list.map((each, index) => ({ value: each, path: [...this.at(key), index] }))
  }

  /** Opens the object at a key, for rules of its own; undefined without the key. */
  child<Inner extends string>(key: Key, inner: Shape<Inner>): Entry<Inner> | undefined {
    const value = this.raw(key)
    return value === undefined ? undefined : this.open(value, this.at(key), inner)
  }

  /** Opens each object of a list, for rules of their own; none without the key. */
  children<Inner extends string>(key: Key, inner: Shape<Inner>): readonly Entry<Inner>[] {
    return this.items(key).map(({ value, path }) => this.open(value, path, inner))
  }

  /** Opens the object at a key that concerns the same rules; undefined without the key. */
  part<Inner extends string>(key: Key, inner: Shape<Inner>): Entry<Inner> | undefined {
    const value = this.raw(key)
    return value === undefined ? undefined : this.within(value, this.at(key), inner)
  }

  /** Opens each object of a list that concerns the same rules; none without the key. */
  parts<Inner extends string>(key: Key, inner: Shape<Inner>): readonly Entry<Inner>[] {
    return this.items(key).map(({ value, path }) => this.within(value, path, inner))
  }

  /** Opens an object for rules of its own: its doubts do not concern others. */
  open<Inner extends string>(value: unknown, path: Path, inner: Shape<Inner>): Entry<Inner> {
    return new Entry(this.report, value, path, inner, this.#spelling, [...this.doubts])
  }

  /** Opens an object that concerns the same rules: doubts are shared. */
  within<Inner extends string>(value: unknown, path: Path, inner: Shape<Inner>): Entry<Inner> {
    return new Entry(this.report, value, path, inner, this.#spelling, this.doubts)
  }

  /** Reports that a key was carried over with another meaning. */
  changed(key: Key, message: string): void {
    this.report.note('changed', message, this.at(key), true)
  }

  /** Reports that a value of a key was not carried over. */
  leftOut(key: Key, message: string): void {
    this.report.note('left_out', message, this.at(key), true)
  }

  /** Reports a condition that cannot be expressed: rules of this object are written disabled. */
  doubt(key: Key, why: string): void {
    this.leftOut(key, why)
    this.#suspect(`${quoted(key)}: ${why}`)
  }

  #suspect(doubt: string): void {
    if (this.doubts.length < MAX_DOUBTS) this.doubts.push(doubt)
  }

  /** Returns a regular expression for the whole of a text; undefined for one that is not supported. */
  wholeRegex(key: Key, pattern: string): string | undefined {
    const regex = `^(?:${pattern})$`
    try {
      void new SafeRegex(regex)
      return regex
    } catch (error) {
      if (!(error instanceof RegexError)) throw error
      this.doubt(key, error.message)
      return undefined
    }
  }

  #missing<T>(key: Key, what: string, fallback: T): T {
    this.report.problem('missing_key', `${quoted(key)} is required: ${what}`, this.path)
    return fallback
  }

  #wrong<T>(key: Key, what: string, value: unknown, fallback: T): T {
    this.report.problem('wrong_type', needs(what, value), this.at(key))
    return fallback
  }
}

function needs(what: string, value: unknown): string {
  return `must be ${what}; got ${shownValue(value)}`
}

function spelled(key: string, spelling: Spelling): string {
  return spelling === 'exact' ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
