import { effectiveMembers, type JsonNode } from '../../../base/json/json-node.ts'

/** The types that a value can be given. */
export const JSON_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const

export type JsonType = (typeof JSON_TYPES)[number]

/** Returns JSON's name for the type of a value. */
export function typeOf(node: JsonNode): JsonType {
  if (node.kind !== 'literal') return node.kind
  return node.value === null ? 'null' : 'boolean'
}

/**
 * Converts a value to the nearest one of another type, as written; undefined when it has the type.
 */
export function retyped(text: string, node: JsonNode, type: JsonType): string | undefined {
  if (typeOf(node) === type) return undefined
  const written = text.slice(node.start, node.end)
  switch (type) {
    case 'string':
      return JSON.stringify(written)
    case 'number':
      return asNumber(node)
    case 'boolean':
      return String(isTrue(node))
    case 'array':
      return asArray(text, node, written)
    case 'object':
      return asObject(text, node, written)
    case 'null':
    default:
      return 'null'
  }
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Texts that are not numbers become their length, as lists do. */
function asNumber(node: JsonNode): string {
  switch (node.kind) {
    case 'string': {
      const value = node.value.trim()
      return NUMBER.test(value) ? value : String(node.value.length)
    }
    case 'array':
      return String(node.items.length)
    case 'object':
      return String(effectiveMembers(node).length)
    case 'number':
    case 'literal':
    default:
      return String(Number(node.value))
  }
}

function isTrue(node: JsonNode): boolean {
  switch (node.kind) {
    case 'string':
      return !['', 'false', '0', 'no'].includes(node.value.toLowerCase())
    case 'array':
      return node.items.length > 0
    case 'object':
      return node.members.length > 0
    case 'number':
    case 'literal':
    default:
      return Boolean(node.value)
  }
}

function asArray(text: string, node: JsonNode, written: string): string {
  if (typeOf(node) === 'null') return '[]'
  if (node.kind !== 'object') return `[${written}]`
  const values = effectiveMembers(node).map(({ value }) => text.slice(value.start, value.end))
  return `[${values.join(',')}]`
}

function asObject(text: string, node: JsonNode, written: string): string {
  if (typeOf(node) === 'null') return '{}'
  if (node.kind !== 'array') return `{"value":${written}}`
  const items = node.items.map((item, index) => `"${index}":${text.slice(item.start, item.end)}`)
  return `{${items.join(',')}}`
}
