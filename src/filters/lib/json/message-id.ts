import { valueOf } from '../../../base/json/json-node.ts'
import { readJson } from '../../../base/json/json-text.ts'
import type { JsonRpcId } from '../../../mcp/call.ts'

/** The id of a message as it is written; undefined when there is none. */
export function idText(text: string): string | undefined {
  const id = valueOf(readJson(text), 'id')
  return id === undefined ? undefined : text.slice(id.start, id.end)
}

/** The texts before and after the id of a message; undefined when it has no id. */
export function aroundId(text: string): readonly [string, string] | undefined {
  const id = valueOf(readJson(text), 'id')
  return id && [text.slice(0, id.start), text.slice(id.end)]
}

/** The text of a message with another id, and nothing else changed; undefined when it has no id. */
export function withId(text: string, id: string): string | undefined {
  return aroundId(text)?.join(id)
}

export type WrongId = 'other' | 'type'

/**
 * An id that is not this one, as JSON. Never the id of a neighbour: clients count upwards from 0,
 * and a response to another call would reach that one.
 */
export function wrongId(id: JsonRpcId, how: WrongId): string {
  if (how === 'type') {
    if (typeof id === 'number') return JSON.stringify(String(id))
    if (String(Number(id)) === id && Number.isFinite(Number(id))) return id
  }
  return typeof id === 'number' ? String(-1 - id) : JSON.stringify(`${id}~`)
}
