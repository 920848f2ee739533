import { quoted } from '../../base/text/foreign-text.ts'
import { RegexError } from '../../base/regex/regex-error.ts'
import { SafeRegex } from '../../base/regex/safe-regex.ts'
import type { Shape } from './fields.ts'
import { Fields, isString, needs } from './object-fields.ts'
import type { Item } from './report.ts'

/** Reads one foreign object with its lists and inner objects, and reports what rules cannot say. */
export class Entry<Key extends string> extends Fields<Key> {
  /** Returns the values of a list with their paths; none without the key. */
  items(key: Key): readonly Item[] {
    const value = this.raw(key) ?? []
    if (!Array.isArray(value)) return this.wrong(key, 'a list', value, [])
    const list: readonly unknown[] = value
    return list.map((each, index) => ({ value: each, path: [...this.at(key), index] }))
  }

  /** Reads a list of strings; empty without the key. */
  texts(key: Key): readonly string[] {
    return this.items(key).flatMap(({ value, path }) => {
      if (isString(value)) return [value]
      this.report.problem('wrong_type', needs('a string', value), path)
      return []
    })
  }

  /** Opens the object at a key, for rules of its own; undefined without the key. */
  child<Inner extends string>(key: Key, inner: Shape<Inner>): Entry<Inner> | undefined {
    const value = this.raw(key)
    return value === undefined ? undefined : this.open({ value, path: this.at(key) }, inner)
  }

  /** Opens each object of a list, for rules of their own; none without the key. */
  children<Inner extends string>(key: Key, inner: Shape<Inner>): readonly Entry<Inner>[] {
    return this.items(key).map((item) => this.open(item, inner))
  }

  /** Opens the object at a key that concerns the same rules; undefined without the key. */
  part<Inner extends string>(key: Key, inner: Shape<Inner>): Entry<Inner> | undefined {
    const value = this.raw(key)
    return value === undefined ? undefined : this.within({ value, path: this.at(key) }, inner)
  }

  /** Opens each object of a list that concerns the same rules; none without the key. */
  parts<Inner extends string>(key: Key, inner: Shape<Inner>): readonly Entry<Inner>[] {
    return this.items(key).map((item) => this.within(item, inner))
  }

  /** Opens an object for rules of its own: its doubts do not concern others. */
  open<Inner extends string>(item: Item, inner: Shape<Inner>): Entry<Inner> {
    return new Entry(this.report, item, inner, this.spelling, [...this.doubts])
  }

  /** Opens an object that concerns the same rules: doubts are shared. */
  within<Inner extends string>(item: Item, inner: Shape<Inner>): Entry<Inner> {
    return new Entry(this.report, item, inner, this.spelling, this.doubts)
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
    this.suspect(`${quoted(key)}: ${why}`)
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
}
