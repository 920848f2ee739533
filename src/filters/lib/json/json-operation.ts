import { editEntries, inOrder, memberText, type TextEdit } from '../../../base/json/json-edit.ts'
import { find, findMatches, memberOf } from '../../../base/json/json-node.ts'
import type { JsonArray, JsonNode, JsonObject } from '../../../base/json/json-node.ts'
import { retyped, type JsonType } from './retype.ts'

/** One change of JSON values, at all places that its keys lead to. */
export type JsonOperation = { readonly keys: readonly string[] } & (
  | { readonly kind: 'rename'; readonly to: string }
  | { readonly kind: 'remove' }
  | { readonly kind: 'set'; readonly json: string }
  /** The last key is the one to add; `-` adds to the end of a list. */
  | { readonly kind: 'add'; readonly json: string }
  | { readonly kind: 'retype'; readonly type: JsonType }
  | { readonly kind: 'nullify' }
  | { readonly kind: 'wrap'; readonly key: string }
)

/** The edits that an operation comes to, in order; none when it finds nothing to change. */
export function operationEdits(
  text: string,
  node: JsonNode,
  operation: JsonOperation,
): readonly TextEdit[] {
  const { keys } = operation
  switch (operation.kind) {
    case 'rename':
      return inOrder(
        find(node, keys.slice(0, -1)).flatMap((parent) =>
          renamed(parent, keys.at(-1)!, operation.to),
        ),
      )
    case 'remove':
      return inOrder(removed(node, keys))
    case 'add':
      return find(node, keys.slice(0, -1)).flatMap((parent) =>
        added(parent, keys.at(-1)!, operation.json),
      )
    case 'set':
      return replaced(text, node, keys, () => operation.json)
    case 'nullify':
      return replaced(text, node, keys, () => 'null')
    case 'retype':
      return replaced(text, node, keys, (each) => retyped(text, each, operation.type))
    case 'wrap':
    default:
      return find(node, keys).flatMap(({ start, end }) => [
        { start, end: start, text: `{${JSON.stringify(operation.key)}:` },
        { start: end, end, text: '}' },
      ])
  }
}

function replaced(
  text: string,
  node: JsonNode,
  keys: readonly string[],
  by: (node: JsonNode) => string | undefined,
): readonly TextEdit[] {
  return find(node, keys).flatMap((each) => {
    const { start, end } = each
    const json = by(each)
    return json === undefined || json === text.slice(start, end) ? [] : [{ start, end, text: json }]
  })
}

/** Members of one key are all renamed, so that the same one counts. What had the new name goes. */
function renamed(parent: JsonNode, key: string, to: string): readonly TextEdit[] {
  if (parent.kind !== 'object' || key === to || memberOf(parent, key) === undefined) return []
  const { members } = parent
  const keys = members.flatMap((member) =>
    member.key === key
      ? [{ start: member.keyStart, end: member.keyEnd, text: JSON.stringify(to) }]
      : [],
  )
  return [...keys, ...editEntries(parent, { removes: (index) => members[index]!.key === to })]
}

function removed(node: JsonNode, keys: readonly string[]): readonly TextEdit[] {
  const gone = new Map<JsonObject | JsonArray, Set<number>>()
  for (const { parent, index } of findMatches(node, keys)) {
    if (parent === undefined) continue
    const indexes = gone.get(parent) ?? new Set<number>()
    gone.set(parent, indexes.add(index))
  }
  return [...gone].flatMap(([parent, indexes]) => {
    if (parent.kind === 'array') {
      return editEntries(parent, { removes: (index) => indexes.has(index) })
    }
    // The members that did not count would count without the one that did.
    const { members } = parent
    const names = new Set([...indexes].map((index) => members[index]!.key))
    return editEntries(parent, { removes: (index) => names.has(members[index]!.key) })
  })
}

function added(parent: JsonNode, key: string, json: string): readonly TextEdit[] {
  if (parent.kind === 'array') return key === '-' ? editEntries(parent, { adds: [json] }) : []
  if (parent.kind !== 'object' || memberOf(parent, key) !== undefined) return []
  return editEntries(parent, { adds: [memberText(key, json)] })
}
