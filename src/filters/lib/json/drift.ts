import { effectiveMembers, type JsonNode } from '../../../base/json/json-node.ts'
import type { JsonOperation } from './json-operation.ts'
import type { JsonPart } from './json-part.ts'
import { typeOf, type JsonType } from './retype.ts'

/** Members beyond this number or depth are not changed. */
const MAX_CHOICES = 10_000
const MAX_DEPTH = 20
const SEPARATOR = '\0'

interface Choice {
  readonly keys: readonly string[]
  readonly type: JsonType
}

/** Maps each type to the type that a careless release changes it to. */
const DRIFTS: Readonly<Record<JsonType, JsonType>> = {
  string: 'array',
  number: 'string',
  boolean: 'string',
  object: 'array',
  array: 'object',
  null: 'string',
}

const KINDS = ['rename', 'remove', 'retype', 'nullify', 'wrap', 'add'] as const

/**
 * Draws one change that a careless release might bring: a member, alike in all items of a list, is
 * renamed, removed, given another type, made null, put into an object of its own, or gets a new
 * neighbour. Keys that were changed before are left alone: nothing is done and undone. Undefined
 * where there is no other member.
 */
export function drawDrift(
  parts: readonly JsonPart[],
  before: readonly JsonOperation[],
  random: () => number,
): JsonOperation | undefined {
  const touched = new Set(before.flatMap((each) => [each.keys.at(-1)!, ...newKeys(each)]))
  const choices = choicesIn(parts).filter(({ keys }) => !touched.has(keys.at(-1)!))
  const pick = <T>(list: readonly T[]): T =>
    list[Math.min(Math.floor(random() * list.length), list.length - 1)]!
  if (choices.length === 0) return undefined
  const { keys, type } = pick(choices)
  const kind = pick(KINDS)
  const key = keys.at(-1)!
  switch (kind) {
    case 'rename':
      return { kind, keys, to: newName(key) }
    case 'retype':
      return { kind, keys, type: DRIFTS[type] }
    case 'wrap':
      return { kind, keys, key: 'value' }
    case 'add':
      return { kind, keys: [...keys.slice(0, -1), newName(key)], json: '"new"' }
    case 'remove':
      return { kind, keys }
    case 'nullify':
    default:
      // Replacing null by null would change nothing.
      return type === 'null' ? { kind: 'remove', keys } : { kind, keys }
  }
}

function newKeys(operation: JsonOperation): readonly string[] {
  return operation.kind === 'rename' ? [operation.to] : []
}

/** All members of all parts, items of lists taken as one; in the order in which they are met. */
function choicesIn(parts: readonly JsonPart[]): readonly Choice[] {
  const choices = new Map<string, Choice>()
  const visit = (node: JsonNode, keys: readonly string[]): void => {
    if (choices.size >= MAX_CHOICES || keys.length >= MAX_DEPTH) return
    if (node.kind === 'array') {
      for (const item of node.items) visit(item, [...keys, '*'])
    } else if (node.kind === 'object') {
      for (const { key, value } of effectiveMembers(node)) {
        const inner = [...keys, key]
        const name = inner.join(SEPARATOR)
        // A key that is a star would stand for all of its neighbours.
        if (key === '*') continue
        if (!choices.has(name)) choices.set(name, { keys: inner, type: typeOf(value) })
        visit(value, inner)
      }
    }
  }
  for (const { node } of parts) visit(node, [])
  return [...choices.values()]
}

/** The other usual way to write it; a plain word becomes that of the next version. */
function newName(key: string): string {
  if (/[a-z0-9]_[a-z0-9]/i.test(key)) {
    return key.replace(/([a-z0-9])_([a-z0-9])/gi, (_, a: string, b: string) => a + b.toUpperCase())
  }
  if (/[a-z][A-Z]/.test(key)) {
    return key.replace(/([a-z0-9])([A-Z])/g, (_, a: string, b: string) => `${a}_${b.toLowerCase()}`)
  }
  return `${key}_v2`
}
