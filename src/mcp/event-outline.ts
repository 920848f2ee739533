import { outlineOf } from './outline.ts'
import type { ReadMessages } from './read-messages.ts'
import { parseSseFields, type SseFields } from './sse-fields.ts'

/** The fields of a large event without the data, and the message of the data. */
export interface EventOutline {
  readonly fields: SseFields
  readonly read: ReadMessages
}

const LF = 10
const CR = 13
const SPACE = 0x20
const DATA = Buffer.from('data:')
/** The most lines in front of the data, and bytes in all lines but the data. */
const MAX_LINES = 8
const MAX_OTHERS = 1024
/** Shorter events are parsed as fast. */
const LARGE = 2 * 1024
const NONE: ReadMessages = { batch: false, messages: [] }

/**
 * Reads a large event whose data is one line, without decoding that line. Returns undefined for an
 * event that a parser should read.
 */
export function outlineOfEvent(raw: Buffer, first: boolean): EventOutline | undefined {
  if (raw.length < LARGE) return undefined
  const line = dataLine(raw)
  if (line === undefined) return undefined
  const [begin, end] = line
  if (begin + raw.length - end > MAX_OTHERS) return undefined
  const others = Buffer.concat([raw.subarray(0, begin), raw.subarray(end)])
  // With the data in front there is no byte order mark.
  const fields = parseSseFields(others, first && begin > 0)
  // Data on two lines is joined.
  if (fields.data !== undefined) return undefined
  const from = begin + DATA.length + (raw[begin + DATA.length] === SPACE ? 1 : 0)
  const data = raw.subarray(from, raw[end - 2] === CR ? end - 2 : end - 1)
  // A CR ends a line as well.
  if (data.includes(CR)) return undefined
  const read = outlineOf([data], data.length)
  if (read === undefined) return undefined
  const { event } = fields
  return { fields, read: event === undefined || event === 'message' ? read : NONE }
}

/** Returns the offsets of the first data line, with its end. */
function dataLine(raw: Buffer): readonly [number, number] | undefined {
  let begin = 0
  for (let lines = 0; lines < MAX_LINES; lines++) {
    const end = raw.indexOf(LF, begin) + 1
    if (end === 0) return undefined
    if (raw.subarray(begin, begin + DATA.length).equals(DATA)) return [begin, end]
    begin = end
  }
  return undefined
}
