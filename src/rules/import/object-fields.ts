import { quoted } from '../../base/text/foreign-text.ts'
import { nearestName } from '../../base/nearest-name.ts'
import { isRecord } from '../../base/values.ts'
import { type Path, shownValue } from '../file/problem.ts'
import type { Field, Shape } from './fields.ts'
import type { Item, Report } from './report.ts'
import { goDuration } from './values.ts'

/** The allowed range of a number. */
interface Limits {
  readonly min?: number
  readonly max?: number
}

/** The notation of keys: as declared, or in camelCase and snake_case alike. */
type Spelling = 'exact' | 'camelCase or snake_case'

/** More reasons would not help. */
const MAX_DOUBTS = 20
const DECIMAL = /^\d{1,15}(?:\.\d{1,9})?$/

export const isString = (value: unknown): value is string => typeof value === 'string'

/**
 * Reads one foreign object by its shape: its keys, and values that have no shape of their own.
 * Reports unknown keys and those that are left out, and values of a wrong type as errors; the value
 * that is returned then does not matter.
 */
export class Fields<Key extends string> {
  readonly report: Report
  readonly path: Path
  /** The reasons for which rules of this object might act on more calls than the source. */
  readonly doubts: string[]
  protected readonly spelling: Spelling
  readonly #values: Readonly<Record<string, unknown>>
  /** The written key of each declared one. */
  readonly #written = new Map<string, string>()

  constructor(
    report: Report,
    { value, path }: Item,
    { fields }: Shape<Key>,
    spelling: Spelling = 'exact',
    doubts: string[] = [],
  ) {
    this.report = report
    this.path = path
    this.doubts = doubts
    this.spelling = spelling
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
    const known = keys.get(spelled(key, this.spelling))
    if (known === undefined) {
      const near = report.isFull ? undefined : nearestName(key, Object.keys(declared))
      const hint = near === undefined ? '' : `; did you mean ${quoted(near)}?`
      report.note('unknown', `unknown field${hint}`, at, true)
      this.suspect(`unknown field ${quoted(key)}`)
      return
    }
    if (this.#written.has(known)) report.problem('duplicate_key', 'duplicate field', at)
    this.#written.set(known, key)
    const field = declared[known]
    if (field === undefined || !('why' in field)) return
    report.note('left_out', field.why, at, true)
    if (field.limits) this.suspect(`${quoted(key)}: ${field.why}`)
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
      return this.wrong(key, 'a number', value, 0)
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
    return this.wrong(key, `a number from ${min} to ${max}`, value, 0)
  }

  /** Reads a duration such as `1m30s` into milliseconds; undefined without the key. */
  duration(key: Key): number | undefined {
    if (!this.has(key)) return undefined
    const ms = goDuration(this.text(key))
    return ms ?? this.wrong(key, 'a duration such as 300ms or 1m30s', this.raw(key), 0)
  }

  text(key: Key, fallback?: string): string {
    const value = this.raw(key)
    if (value === undefined) return fallback ?? this.#missing(key, 'a string', '')
    return isString(value) ? value : this.wrong(key, 'a string', value, '')
  }

  flag(key: Key, fallback: boolean): boolean {
    const value = this.raw(key)
    if (value === undefined) return fallback
    return typeof value === 'boolean' ? value : this.wrong(key, 'true or false', value, fallback)
  }

  /** Reads an object of strings; empty without the key. */
  pairs(key: Key): readonly (readonly [string, string])[] {
    const value = this.raw(key) ?? {}
    if (!isRecord(value)) return this.wrong(key, 'an object', value, [])
    return Object.entries(value).flatMap(([name, each]) => {
      if (isString(each)) return [[name, each] as const]
      this.report.problem('wrong_type', needs('a string', each), [...this.at(key), name])
      return []
    })
  }

  protected suspect(doubt: string): void {
    if (this.doubts.length < MAX_DOUBTS) this.doubts.push(doubt)
  }

  #missing<T>(key: Key, what: string, fallback: T): T {
    this.report.problem('missing_key', `${quoted(key)} is required: ${what}`, this.path)
    return fallback
  }

  protected wrong<T>(key: Key, what: string, value: unknown, fallback: T): T {
    this.report.problem('wrong_type', needs(what, value), this.at(key))
    return fallback
  }
}

export function needs(what: string, value: unknown): string {
  return `must be ${what}; got ${shownValue(value)}`
}

function spelled(key: string, spelling: Spelling): string {
  return spelling === 'exact' ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
