import { type TextEdit, editsInString, inOrder, splice } from '../../../base/json/json-edit.ts'
import { type JsonNode, type JsonString, find, valueOf } from '../../../base/json/json-node.ts'
import { MAX_JSON_VALUES, type ValuesLeft, readJson } from '../../../base/json/json-text.ts'
import type { Fault, Frame } from '../../fault.ts'
import { frameText, withText } from './frame-json.ts'

/** A JSON value within a text, or within a string of that text. */
export interface JsonPart {
  /** The text that the positions in `node` refer to. */
  readonly text: string
  readonly node: JsonNode
  /** The edits of `text`, in order, as edits of the text around it. */
  readonly outer: (edits: readonly TextEdit[]) => readonly TextEdit[]
}

/**
 * Returns the content of a message: its result, also that of the task in a response to `tasks/get`
 * in protocol version 2026-07-28, or the parameters of a request or notification.
 */
export function contentOf(message: JsonNode | undefined): JsonNode | undefined {
  const result = valueOf(message, 'result')
  if (result === undefined) return valueOf(message, 'params')
  if (valueOf(result, 'taskId')?.kind !== 'string') return result
  const ofTask = valueOf(result, 'result')
  return ofTask?.kind === 'object' ? ofTask : result
}

/**
 * Where content has text: of tools, of resources, of prompts and requests for samples, of
 * notifications.
 */
const TEXTS = [
  ['systemPrompt'],
  ['message'],
  ['data'],
  ['content', 'text'],
  ['content', '*', 'text'],
  ['content', '*', 'resource', 'text'],
  ['contents', '*', 'text'],
  ['messages', '*', 'content', 'text'],
  ['messages', '*', 'content', '*', 'text'],
  ['messages', '*', 'content', '*', 'resource', 'text'],
] as const

export function plainPart(text: string, node: JsonNode): JsonPart {
  return { text, node, outer: (edits) => edits }
}

/** The object or array that a string holds as JSON; undefined when it holds none, or too much. */
export function partIn(text: string, node: JsonString, left: ValuesLeft): JsonPart | undefined {
  if (!/^\s*[{[]/.test(node.value)) return undefined
  const inner = readJson(node.value, left)
  if (inner === undefined) return undefined
  return { text: node.value, node: inner, outer: (edits) => editsInString(text, node, edits) }
}

export function textsOf(result: JsonNode): readonly JsonString[] {
  return TEXTS.flatMap((keys) => find(result, keys)).filter((node) => node.kind === 'string')
}

/** Returns how much may be read of all texts of one result together. */
export function textBound(): ValuesLeft {
  return { values: MAX_JSON_VALUES }
}

/** The structured content of a result, and all objects and arrays that its texts hold as JSON. */
export function resultParts(text: string, result: JsonNode): readonly JsonPart[] {
  const left = textBound()
  return [
    ...structuredPart(text, result),
    ...textsOf(result).flatMap((node) => partIn(text, node, left) ?? []),
  ]
}

export function structuredPart(text: string, result: JsonNode): readonly JsonPart[] {
  const node = valueOf(result, 'structuredContent')
  return node === undefined ? [] : [plainPart(text, node)]
}

/** Finds the changes to the content of a message, as edits of `text`. */
export type ResultChange = (text: string, result: JsonNode) => readonly TextEdit[]

/** The frame with its content changed; undefined when it has none, or nothing is to change. */
export function editResult(frame: Frame, change: ResultChange): Frame | undefined {
  const { message } = frame
  if (message === undefined || message.kind === 'error') return undefined
  const text = frameText(frame)
  const result = text === undefined ? undefined : contentOf(readJson(text))
  if (text === undefined || result === undefined) return undefined
  const edits = change(text, result)
  return edits.length === 0 ? undefined : withText(frame, splice(text, inOrder(edits)))
}

/** The hooks of a fault that changes the frame that ends the call, and passes all others on. */
export function changingLast(
  onLast: NonNullable<Fault['onLast']>,
): Required<Pick<Fault, 'onResponse' | 'onLast'>> {
  return {
    onLast,
    async *onResponse(ctx, frames) {
      for await (const frame of frames)
        yield (frame.last ? await onLast(ctx, frame) : undefined) ?? frame
    },
  }
}
