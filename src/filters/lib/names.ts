import type { TUnsafe } from 'typebox'
import { GLOB_FORMAT, type NodeOptions } from './config-schema.ts'
import { isGlob, matchesGlob } from '../../base/glob.ts'

/** A parameter that takes a name or a glob, or a list of them. */
export type Names = string | readonly string[]

const oneName = { type: 'string', format: GLOB_FORMAT, minLength: 1, maxLength: 2048 } as const

/** The schema of such a parameter. */
export function names(options: NodeOptions): TUnsafe<Names> {
  const list = { type: 'array', items: oneName, minItems: 1, maxItems: 1000 } as const
  return { anyOf: [oneName, list], ...options } as unknown as TUnsafe<Names>
}

/** Returns a function that is true for names that match the parameter. */
export function namePicker(given: Names): (name: string) => boolean {
  const list = [given].flat()
  const exact = new Set(list.filter((each) => !isGlob(each)))
  const globs = list.filter((each) => isGlob(each))
  return (name) => exact.has(name) || globs.some((glob) => matchesGlob(glob, name))
}
