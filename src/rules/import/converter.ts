import { nearestName } from '../../base/nearest-name.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { isRecord } from '../../base/values.ts'
import type { Entry } from './entry.ts'
import type { Shape } from './fields.ts'
import type { Item, Report } from './report.ts'

/** Converts the fault configuration of one other tool. */
export interface Converter {
  /** Describes the source, as in 'a fault plan of mcp-chaos'. */
  readonly source: string
  /** Explains, for the documentation, how the sources differ from rules. */
  readonly about: string
  /** All objects of the format, for the documentation. */
  readonly shapes: readonly Shape[]
  /** True when a sidecar reads the format in the place of rules. */
  readonly isRules?: true
  /** Returns true for a document that is clearly of this format. */
  recognizes(value: unknown): boolean
  /** Adds the rules of a document to the report. */
  convert(report: Report, value: unknown): void
}

/** One kind of objects that share a key with their type. */
export interface Kind<Result = void> {
  readonly shape: Shape
  convert(parent: Entry<string>, item: Item): Converted<Result>
}

export interface Converted<Result> {
  readonly entry: Entry<string>
  readonly result: Result
}

export type Kinds<Result = void> = Readonly<Record<string, Kind<Result>>>

export function kind<Key extends string, Result>(
  shape: Shape<Key>,
  convert: (entry: Entry<Key>) => Result,
): Kind<Result> {
  return {
    shape,
    convert: (parent, item) => {
      const entry = parent.open(item, shape)
      return { entry, result: convert(entry) }
    },
  }
}

export function shapesOf(kinds: Kinds<unknown>): readonly Shape[] {
  return Object.values(kinds).map(({ shape }) => shape)
}

/** Converts an object by its type; an unknown type is an error. */
export function convertKind<Result>(
  kinds: Kinds<Result>,
  type: unknown,
  parent: Entry<string>,
  item: Item,
): Converted<Result> | undefined {
  if (typeof type === 'string' && Object.hasOwn(kinds, type)) {
    return kinds[type]?.convert(parent, item)
  }
  const names = Object.keys(kinds)
  const near = typeof type === 'string' ? nearestName(type, names) : undefined
  const hint =
    near === undefined ? `use one of ${names.join(', ')}` : `did you mean ${quoted(near)}?`
  const message = typeof type === 'string' ? `unknown type ${quoted(type)}` : 'has no `type`'
  parent.report.problem('unknown_fault', `${message}; ${hint}`, item.path)
  return undefined
}

/** Returns the `type` of an object. */
export function typeOf(value: unknown): unknown {
  return isRecord(value) ? value['type'] : undefined
}

/** Returns true for an object whose key holds a list of objects, each with these keys. */
export function hasList(value: unknown, key: string, keys: readonly string[]): boolean {
  if (!isRecord(value)) return false
  const list: unknown = value[key]
  return (
    Array.isArray(list) &&
    list.length > 0 &&
    list.every((item) => isRecord(item) && keys.every((each) => each in item))
  )
}
