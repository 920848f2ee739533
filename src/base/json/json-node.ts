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
  if (node?.kind !== 'object') return undefined
  return node.members.findLast((member) => member.key === key)
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
  if (keys.length === 0) return [{ node, parent: undefined, index: 0 }]
  const found: JsonMatch[] = []
  collect(node, keys, 0, found)
  return found
}

/** Returns the values that the keys of a JSON Pointer select. */
export function find(node: JsonNode, keys: readonly string[]): readonly JsonNode[] {
  return findMatches(node, keys).map((match) => match.node)
}

/**
 * Adds the nodes that the keys from `at` on select below a node. Most searches find nothing, and
 * allocate nothing.
 */
function collect(node: JsonNode, keys: readonly string[], at: number, found: JsonMatch[]): void {
  const key = keys[at]!
  if (node.kind === 'array') {
    const { length } = node.items
    if (key === '*') {
      for (let i = 0; i < length; i++) enter(node, i, keys, at, found)
      return
    }
    const i = /^(?:0|[1-9][0-9]{0,8})$/.test(key) ? Number(key) : length
    if (i < length) enter(node, i, keys, at, found)
  } else if (node.kind === 'object') {
    const { members } = node
    if (key === '*') {
      const kept = new Set(effectiveMembers(node))
      for (const [i, member] of members.entries())
        if (kept.has(member)) enter(node, i, keys, at, found)
      return
    }
    for (let i = members.length - 1; i >= 0; i--) {
      if (members[i]!.key === key) return enter(node, i, keys, at, found)
    }
  }
}

/** Adds a child that the key at `at` selects, or the nodes that further keys select below it. */
function enter(
  parent: JsonObject | JsonArray,
  index: number,
  keys: readonly string[],
  at: number,
  found: JsonMatch[],
): void {
  const node = parent.kind === 'array' ? parent.items[index]! : parent.members[index]!.value
  if (at + 1 === keys.length) found.push({ node, parent, index })
  else collect(node, keys, at + 1, found)
}
