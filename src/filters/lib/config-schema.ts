import type { Static, TObject, TProperties, TSchema, TUnsafe } from 'typebox'
import {
  DURATION_PATTERN,
  FACTOR_PATTERN,
  PERCENT_PATTERN,
  RATE_PATTERN,
  SIZE_PATTERN,
} from '../../base/units.ts'
import * as Type from 'typebox'

/** Formats of text that is read into numbers, as they are named in the schema. */
export const DURATION_FORMAT = 'squall-duration'
export const SIZE_FORMAT = 'squall-size'
/** The format of percentages with their sign. */
export const PERCENT_FORMAT = 'squall-percentage'
/** The format of calls per second or minute. */
export const RATE_FORMAT = 'squall-rate'
/** The format of a duration, or of a multiple of the latency before the stages of an experiment. */
export const LATENCY_FORMAT = 'squall-latency'
/** The format of an exact text, or one with `*` and `?`. */
export const GLOB_FORMAT = 'squall-glob'
export const REGEX_FORMAT = 'squall-regex'
export const CIDR_FORMAT = 'squall-cidr'

/** The keywords that every schema node accepts. */
export interface NodeOptions {
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
}

/** The ways to write a duration. Without a unit, only 0 has one meaning. */
export const DURATION_FORMS = [
  { type: 'string', format: DURATION_FORMAT, pattern: DURATION_PATTERN },
  { type: 'integer', format: DURATION_FORMAT, enum: [0] },
]

/** A duration: written `5s` or `0`, read as milliseconds. */
export function duration(options: NodeOptions): TUnsafe<number> {
  return Type.Unsafe<number>({ anyOf: DURATION_FORMS, ...options })
}

/**
 * A limit of a latency: a duration read as milliseconds, or a multiple such as `2x`, which stays
 * text.
 */
export function latencyLimit(options: NodeOptions): TUnsafe<number | string> {
  return Type.Unsafe<number | string>({
    anyOf: [
      {
        type: 'string',
        format: LATENCY_FORMAT,
        pattern: `${DURATION_PATTERN}|${FACTOR_PATTERN}`,
      },
      { type: 'integer', format: LATENCY_FORMAT, enum: [0] },
    ],
    ...options,
  })
}

/** A size: written `8KiB`, or as a number of bytes, read as bytes. */
export function size(options: NodeOptions): TUnsafe<number> {
  return Type.Unsafe<number>({
    anyOf: [
      { type: 'string', format: SIZE_FORMAT, pattern: SIZE_PATTERN },
      { type: 'integer', format: SIZE_FORMAT, minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    ],
    ...options,
  })
}

/** A share in percent: written `30` or `30%`, read as the number. */
export function percentage(options: NodeOptions): TUnsafe<number> {
  return Type.Unsafe<number>({
    anyOf: [
      { type: 'number', minimum: 0, maximum: 100 },
      { type: 'string', format: PERCENT_FORMAT, pattern: PERCENT_PATTERN },
    ],
    ...options,
  })
}

/** A rate: written `200/s` or `30/m`, or as a number of calls per second. */
export function rate(maximum: number, options: NodeOptions): TUnsafe<number> {
  return Type.Unsafe<number>({
    anyOf: [
      { type: 'number', exclusiveMinimum: 0, maximum },
      { type: 'string', format: RATE_FORMAT, pattern: RATE_PATTERN },
    ],
    ...options,
  })
}

export function oneOf<const Word extends string>(
  words: readonly Word[],
  options: NodeOptions,
): TUnsafe<Word> {
  return Type.Unsafe<Word>({ type: 'string', enum: words, ...options })
}

/** An object of any keys. TypeBox's own `Record` brings its engine of 110 kB into the program. */
export function mapOf<Value extends TSchema>(
  values: Value,
  options: NodeOptions & { readonly minProperties?: number; readonly maxProperties?: number } = {},
  names = '^.*$',
): TUnsafe<Record<string, Static<Value>>> {
  return Type.Unsafe({ type: 'object', patternProperties: { [names]: values }, ...options })
}

/**
 * An object that takes these keys and no others. A key with a default may be left out of the file
 * and yet is there in the static type, because defaults are filled in before anyone reads it.
 */
export function section<Properties extends TProperties>(
  properties: Properties,
  options: NodeOptions & { readonly minProperties?: number; readonly maxProperties?: number } = {},
): TUnsafe<Static<TObject<Properties>>> {
  const object = Type.Object(properties, { additionalProperties: false, ...options })
  const required = (object.required as readonly string[] | undefined)?.filter(
    (key) => !('default' in (properties[key] as object)),
  )
  const { required: _, ...rest } = object as TObject<Properties> & Record<string, unknown>
  return Type.Unsafe<Static<TObject<Properties>>>(
    required === undefined || required.length === 0 ? rest : { ...rest, required },
  )
}
