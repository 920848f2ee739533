import { type JsonNode, type JsonString, effectiveMembers } from '../../../base/json/json-node.ts'
import { readJson } from '../../../base/json/json-text.ts'
import {
  type JsonPart,
  contentOf,
  partIn,
  structuredPart,
  textBound,
  textsOf,
} from '../json/json-part.ts'

/** Values beyond this number or depth are not changed. */
const MAX_LEAVES = 10_000
const MAX_DEPTH = 20

/** The places where a result says something. */
export interface ResultView {
  /** The text of the message. */
  readonly text: string
  /** The structured content, and the objects and arrays that texts hold as JSON. */
  readonly parts: readonly ViewPart[]
  /** The structured content, which a schema may describe. */
  readonly structured: ViewPart | undefined
  /** The other texts. */
  readonly prose: readonly JsonString[]
}

interface ViewPart extends JsonPart {
  readonly leaves: Leaf[]
}

/** A value in a part of a result. */
export interface Leaf {
  readonly keys: readonly string[]
  readonly node: JsonNode
  readonly part: JsonPart
  /** The object or array that has the value; undefined for the part itself. */
  readonly parent: JsonNode | undefined
}

/** Finds what a result says; undefined for a text without a result. */
export function viewOf(text: string): ResultView | undefined {
  const result = contentOf(readJson(text))
  if (result === undefined) return undefined
  const [structured] = structuredPart(text, result).map(withLeaves)
  const left = textBound()
  const texts = textsOf(result).map((node) => ({ node, part: partIn(text, node, left) }))
  const written = texts.flatMap(({ part }) => (part === undefined ? [] : [withLeaves(part)]))
  const prose = texts.flatMap(({ node, part }) => (part === undefined ? [node] : []))
  return { text, parts: structured ? [structured, ...written] : written, structured, prose }
}

/** Finds the values of a part, objects and arrays before what is in them. */
function withLeaves(part: JsonPart): ViewPart {
  const found: ViewPart = { ...part, leaves: [] }
  const visit = (node: JsonNode, keys: readonly string[], parent: JsonNode | undefined): void => {
    if (found.leaves.length >= MAX_LEAVES || keys.length > MAX_DEPTH) return
    found.leaves.push({ keys, node, part: found, parent })
    if (node.kind === 'array') {
      for (const [i, item] of node.items.entries()) visit(item, [...keys, String(i)], node)
    } else if (node.kind === 'object') {
      for (const { key, value } of effectiveMembers(node)) visit(value, [...keys, key], node)
    }
  }
  visit(part.node, [], undefined)
  return found
}

/** Returns the JSON text of a value. */
export function rawOf({ node, part }: Pick<Leaf, 'node' | 'part'>): string {
  return part.text.slice(node.start, node.end)
}

/** Returns the key of the nearest object, also for an item of a list. */
export function keyOf({ keys }: Pick<Leaf, 'keys'>): string {
  return keys.findLast((key) => !/^\d+$/.test(key)) ?? ''
}
