import type { TUnsafe } from 'typebox'
import { GLOB_FORMAT, type NodeOptions } from '../../filters/lib/config-schema.ts'
import type { TextSpec } from '../match/text-match.ts'
import * as Type from 'typebox'

export const MAX_LIST = 100
export const MAX_TEXT = 2048

export const glob = {
  type: 'string',
  format: GLOB_FORMAT,
  minLength: 1,
  maxLength: MAX_TEXT,
} as const

/** Refers to a definition of the match. */
export function ref<T>(name: string, options: NodeOptions = {}): TUnsafe<T> {
  return Type.Unsafe<T>({ $ref: `#/definitions/${name}`, ...options })
}

/** One of something, or a list of them. */
export function oneOrMore<T>(one: object, options: NodeOptions): TUnsafe<T | readonly T[]> {
  return Type.Unsafe<T | readonly T[]>({
    anyOf: [one, { type: 'array', items: one, minItems: 1, maxItems: MAX_LIST }],
    ...options,
  })
}

/** One text, a glob, or several. */
export const texts = (description: string, ...examples: unknown[]): TUnsafe<TextSpec> =>
  ref<TextSpec>('text', examples.length === 0 ? { description } : { description, examples })
