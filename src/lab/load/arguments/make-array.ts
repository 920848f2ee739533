import { isRecord } from '../../../base/values.ts'
import type { Contained, Schema } from './intersect-schemas.ts'
import type { Making } from './making.ts'
import { intBetween } from '../../../base/seeded-random.ts'

const MAX_ITEMS = 100
/** The number of attempts to make an item that is not in the array, when items must be unique. */
const TRIES = 20

/** Makes an array for a schema without references and alternatives. */
export function makeArray(schema: Schema, making: Making, depth: number): unknown {
  const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : []
  const rest = isRecord(schema['items']) ? schema['items'] : undefined
  const contained = containedIn(schema)
  const unique = schema['uniqueItems'] === true
  const items: unknown[] = []
  const seen = new Set<string>()
  const add = (of: unknown): void => {
    for (let tries = 0; tries < TRIES; tries++) {
      const item = making.make(of, depth + 1)
      const text = JSON.stringify(item)
      if (unique && seen.has(text)) continue
      seen.add(text)
      items.push(item)
      return
    }
  }
  const length = lengthOf(schema, first.length, contained, making)
  for (const each of first.slice(0, length)) add(each)
  for (const each of contained) {
    const of = rest === undefined ? each.schema : { allOf: [rest, each.schema] }
    for (let i = 0; i < Math.min(MAX_ITEMS, each.least); i++) add(of)
  }
  for (let tries = 0; items.length < length && tries < length; tries++) {
    add(rest ?? { type: 'string' })
  }
  return items
}

function lengthOf(
  schema: Schema,
  first: number,
  contained: readonly Contained[],
  { random }: Making,
): number {
  const wanted = contained.reduce((sum, { least }) => sum + Math.min(MAX_ITEMS, least), first)
  const least = Math.max(wanted, Math.min(MAX_ITEMS, Number(schema['minItems'] ?? 1)))
  const most = Number(schema['maxItems'] ?? Infinity)
  // Items beyond it may be one too many of those that `contains` counts.
  const bounded = contained.some((each) => each.most !== undefined)
  const room = bounded || schema['items'] === false ? 0 : 2
  return Math.min(intBetween(random, least, Math.max(least, Math.min(least + room, most))), most)
}

function containedIn({ contained }: Schema): readonly Contained[] {
  return (contained ?? []) as readonly Contained[]
}
