/** Where something stands in a text: from `start` up to, and without, `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** An object. Of several members with one key the last one counts, as for `JSON.parse`. */
export interface JsonObject extends Span {
  readonly kind: 'object'
  readonly members: readonly JsonMember[]
}

/** A key and its value; the span is that of both. */
export interface JsonMember extends Span {
  readonly key: string
  /** The span of the key with its quotes. */
  readonly keyStart: number
  readonly keyEnd: number
  readonly value: JsonNode
}

export interface JsonArray extends Span {
  readonly kind: 'array'
  readonly items: readonly JsonNode[]
}

/** A string; its span has the quotes in it, its value is decoded. */
export interface JsonString extends Span {
  readonly kind: 'string'
  readonly value: string
}

/** A number. The value may be less exact than what is written. */
export interface JsonNumber extends Span {
  readonly kind: 'number'
  readonly value: number
}

export interface JsonLiteral extends Span {
  readonly kind: 'literal'
  readonly value: boolean | null
}

/** A JSON value and where it stands in its text. */
export type JsonNode = JsonObject | JsonArray | JsonString | JsonNumber | JsonLiteral

/** The member of a key that counts; undefined when there is none, or the node is no object. */
export function memberOf(node: JsonNode | undefined, key: string): JsonMember | undefined {
  return node?.kind === 'object' ? node.members.findLast((each) => each.key === key) : undefined
}

/** The value of a key; undefined when there is none, or the node is no object. */
export function valueOf(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return memberOf(node, key)?.value
}

/** The items of an array; none when the node is no array. */
export function itemsOf(node: JsonNode | undefined): readonly JsonNode[] {
  return node?.kind === 'array' ? node.items : []
}

/** The members that count, one for each key, where the last one with the key stands. */
export function effectiveMembers(node: JsonObject): readonly JsonMember[] {
  const last = new Map<string, JsonMember>()
  for (const member of node.members) last.set(member.key, member)
  if (last.size === node.members.length) return node.members
  return node.members.filter((member) => last.get(member.key) === member)
}

/** A value in an object or an array, and where it is there. */
export interface JsonMatch {
  readonly node: JsonNode
  /** Undefined for the value that was searched. */
  readonly parent: JsonObject | JsonArray | undefined
  /** Which member or item of the parent it is. */
  readonly index: number
}

/**
 * Finds the nodes that the keys of a JSON Pointer lead to. `*` matches all items of an array and all
 * members of an object. Of several members with one key the effective one is found.
 */
export function findMatches(node: JsonNode, keys: readonly string[]): readonly JsonMatch[] {
  let matches: readonly JsonMatch[] = [{ node, parent: undefined, index: 0 }]
  for (const key of keys) matches = matches.flatMap((match) => inside(match.node, key))
  return matches
}

/** The values that the keys of a JSON Pointer lead to. */
export function find(node: JsonNode, keys: readonly string[]): readonly JsonNode[] {
  return findMatches(node, keys).map((match) => match.node)
}

function inside(parent: JsonNode, key: string): readonly JsonMatch[] {
  if (parent.kind === 'array') {
    if (key === '*') return parent.items.map((node, index) => ({ node, parent, index }))
    const index = /^(?:0|[1-9][0-9]{0,8})$/.test(key) ? Number(key) : -1
    const node = parent.items[index]
    return node === undefined ? [] : [{ node, parent, index }]
  }
  if (parent.kind !== 'object') return []
  if (key === '*') {
    const kept = new Set(effectiveMembers(parent))
    return parent.members.flatMap((member, index) =>
      kept.has(member) ? [{ node: member.value, parent, index }] : [],
    )
  }
  const index = parent.members.findLastIndex((each) => each.key === key)
  return index < 0 ? [] : [{ node: parent.members[index]!.value, parent, index }]
}
