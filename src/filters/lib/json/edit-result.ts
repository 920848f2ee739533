import { inOrder, splice, type TextEdit } from '../../../base/json/json-edit.ts'
import type { JsonNode } from '../../../base/json/json-node.ts'
import { readJson } from '../../../base/json/json-text.ts'
import type { Frame, Frames } from '../../fault.ts'
import { frameText, withText } from './frame-json.ts'
import { contentOf } from './json-part.ts'

/** Finds what to change in the content of a message: `result` stands in `text`, and so do the edits. */
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

/** Passes all frames on, and in the place of the one that ends the call what is made of it. */
export async function* changingLast(
  frames: Frames,
  change: (frame: Frame) => Frame | undefined | Promise<Frame | undefined>,
): AsyncGenerator<Frame> {
  for await (const frame of frames) yield (frame.last ? await change(frame) : undefined) ?? frame
}
