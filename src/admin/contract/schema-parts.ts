import type { Static, TOptional, TSchema, TUnsafe } from 'typebox'
import * as Type from 'typebox'

// The parts of the schemas of the admin API.

export const NAME = 500

export const text = (maxLength: number, description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', maxLength, description })

export const nullableText = (maxLength: number, description: string): TUnsafe<string | null> =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength, description })

export const time = (description: string): TUnsafe<string | null> => nullableText(40, description)

export const word = <const Word extends string>(
  words: readonly Word[],
  description: string,
): TUnsafe<Word> => Type.Unsafe<Word>({ type: 'string', enum: words, description })

export const flag = (description: string): TUnsafe<boolean> =>
  Type.Unsafe<boolean>({ type: 'boolean', description })

export const count = (description: string): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'integer', minimum: 0, description })

export const nullableNumber = (description: string): TUnsafe<number | null> =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description })

export const seconds = nullableNumber

export const list = <Item extends TSchema>(
  items: Item,
  maxItems: number,
  description: string,
): TUnsafe<readonly Static<Item>[]> =>
  Type.Unsafe<readonly Static<Item>[]>({ type: 'array', items, maxItems, description })

/** A key that may be missing. */
export const maybe = <Schema extends TSchema>(
  schema: Schema,
): TOptional<TUnsafe<Static<Schema> | undefined>> =>
  Type.Optional(Type.Unsafe<Static<Schema> | undefined>(schema))
