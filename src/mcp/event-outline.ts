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
const NO_BYTES = Buffer.alloc(0)
const NONE: ReadMessages = { batch: false, messages: [] }

/**
 * Reads a large event whose data is one line, without decoding that line. Returns undefined for an
 * event that a parser should read.
 */
export function outlineOfEvent(
  pieces: readonly Buffer[],
  first: boolean,
): EventOutline | undefined {
  const [head] = pieces
  // Most events are small.
  if (pieces.length === 1 && head!.length < LARGE) return undefined
  const begin = head === undefined ? -1 : dataBegin(head)
  if (begin < 0) return undefined
  const { line, others, length } = linesOf(pieces, begin)
  if (length < LARGE) return undefined
  // With the data in front there is no byte order mark.
  const fields = parseSseFields(others, first && begin > 0)
  // Data on two lines is joined. A CR ends a line as well.
  if (fields.data !== undefined || line.some((piece) => piece.includes(CR))) return undefined
  const read = outlineOf(line, length)
  if (read === undefined) return undefined
  const { event } = fields
  return { fields, read: event === undefined || event === 'message' ? read : NONE }
}

/** Returns the offset of the first data line in the first piece; -1 when it is not there. */
function dataBegin(head: Buffer): number {
  let begin = 0
  for (let lines = 0; lines < MAX_LINES && begin + DATA.length < head.length; lines++) {
    if (head.subarray(begin, begin + DATA.length).equals(DATA)) return begin
    const end = head.indexOf(LF, begin)
    if (end < 0) return -1
    begin = end + 1
  }
  return -1
}

/** Returns the value of the data line that begins at an offset, and all other lines. */
function linesOf(
  pieces: readonly Buffer[],
  begin: number,
): { line: readonly Buffer[]; length: number; others: Buffer } {
  const line: Buffer[] = []
  let length = 0
  let from = begin + DATA.length
  if (pieces[0]![from] === SPACE) from++
  for (const [at, piece] of pieces.entries()) {
    const lf = piece.indexOf(LF, from)
    const end = lf < 0 ? piece.length : lf
    line.push(piece.subarray(from, end))
    length += end - from
    from = 0
    if (lf < 0) continue
    const last = line.at(-1)!
    if (last.at(-1) === CR) {
      line[line.length - 1] = last.subarray(0, -1)
      length--
    }
    const others = [pieces[0]!.subarray(0, begin), piece.subarray(end + 1), ...pieces.slice(at + 1)]
    const isShort = others.reduce((size, { length: more }) => size + more, 0) <= MAX_OTHERS
    if (isShort) return { line, length, others: Buffer.concat(others) }
    break
  }
  return { line, length: 0, others: NO_BYTES }
}
