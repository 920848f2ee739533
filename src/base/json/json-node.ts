/** A range of a text: from `start` up to, and without, `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** An object. The last of several members with one key is effective, as for `JSON.parse`. */
export interface JsonObject extends Span {
  readonly kind: 'object'
  readonly members: readonly JsonMember[]
}

/** A key and its value; the span has both. */
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

/** A string: the span includes the quotes, the value is decoded. */
export interface JsonString extends Span {
  readonly kind: 'string'
  readonly value: string
}

/** A number, which may be less exact than its text. */
export interface JsonNumber extends Span {
  readonly kind: 'number'
  readonly value: number
}

export interface JsonLiteral extends Span {
  readonly kind: 'literal'
  readonly value: boolean | null
}

/** A JSON value with its span in the text. */
export type JsonNode = JsonObject | JsonArray | JsonString | JsonNumber | JsonLiteral

/** Returns the effective member of a key; undefined without one, or for other nodes. */
export function memberOf(node: JsonNode | undefined, key: string): JsonMember | undefined {
  return node?.kind === 'object' ? node.members.findLast((each) => each.key === key) : undefined
}

/** Returns the value of a key; undefined without one, or for other nodes. */
export function valueOf(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return memberOf(node, key)?.value
}

/** Returns the items of an array; none for other nodes. */
export function itemsOf(node: JsonNode | undefined): readonly JsonNode[] {
  return node?.kind === 'array' ? node.items : []
}

/** Returns the effective members, in the order of the text. */
export function effectiveMembers(node: JsonObject): readonly JsonMember[] {
  const last = new Map<string, JsonMember>()
  for (const member of node.members) last.set(member.key, member)
  if (last.size === node.members.length) return node.members
  return node.members.filter((member) => last.get(member.key) === member)
}

/** A value with its position in an object or array. */
export interface JsonMatch {
  readonly node: JsonNode
  /** Undefined for the value that was searched. */
  readonly parent: JsonObject | JsonArray | undefined
  /** The index among the members or items of the parent. */
  readonly index: number
}

/**
 * Finds the nodes that the keys of a JSON Pointer select. `*` matches all items of an array and all
 * effective members of an object.
 */
export function findMatches(node: JsonNode, keys: readonly string[]): readonly JsonMatch[] {
  let matches: readonly JsonMatch[] = [{ node, parent: undefined, index: 0 }]
  for (const key of keys) matches = matches.flatMap((match) => inside(match.node, key))
  return matches
}

/** Returns the values that the keys of a JSON Pointer select. */
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
