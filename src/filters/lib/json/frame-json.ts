import { asBuffer } from '../../../base/bytes.ts'
import { parseJson } from '../../../base/json/json-bounds.ts'
import { toMessage, type Message } from '../../../mcp/json-rpc.ts'
import { keepRead } from '../../../mcp/read-messages.ts'
import type { Frame } from '../../fault.ts'

const BOM = '\uFEFF'
/** A line and what ends it. */
const LINE = /([^\r\n]*)(\r\n|\r|\n|$)/y
const DATA = /^data(?:: ?|$)/

/**
 * Returns the JSON text of a body, or the joined data lines of an event. Undefined for a body
 * without JSON, an event without data, and bytes that are not UTF-8.
 */
export function frameText(frame: Frame): string | undefined {
  const text = decoded(frame)
  if (text === undefined) return undefined
  if (frame.kind === 'event') return dataOf(linesOf(withoutBom(text)))
  const json = withoutBom(text)
  return frame.message !== undefined || isJson(json) ? json : undefined
}

/**
 * Returns the frame with another JSON text. An event keeps its other fields, the order and ends of
 * its lines, and how the data is written, line by line.
 */
export function withText(frame: Frame, text: string): Frame {
  const before = decoded(frame) ?? ''
  const bom = before.startsWith(BOM) ? BOM : ''
  const after = frame.kind === 'event' ? withData(linesOf(withoutBom(before)), text) : text
  // A spread keeps what the frame carries beyond its type, such as the id of its event.
  const raw = Buffer.from(bom + after, 'utf8')
  const message = messageIn(text)
  if (message !== undefined) keepRead(raw, { batch: false, messages: [message] })
  return { ...frame, raw, message }
}

/** Returns the offset in the bytes of a frame of a character of its JSON text. */
export function offsetIn(frame: Frame, at: number): number {
  const text = decoded(frame) ?? ''
  let before = text.length - withoutBom(text).length
  let left = at
  for (const { prefix, value, end } of frame.kind === 'event' ? linesOf(withoutBom(text)) : []) {
    before += prefix?.length ?? 0
    if (prefix !== undefined && left <= value.length) break
    if (prefix !== undefined) left -= value.length + 1
    before += value.length + end.length
  }
  return Buffer.byteLength(text.slice(0, before + left))
}

interface Line {
  /** The field's name, colon and space, when it is a data line. */
  readonly prefix: string | undefined
  readonly value: string
  readonly end: string
}

function linesOf(text: string): readonly Line[] {
  const lines: Line[] = []
  LINE.lastIndex = 0
  while (LINE.lastIndex < text.length) {
    const [, content = '', end = ''] = LINE.exec(text)!
    const prefix = DATA.exec(content)?.[0]
    lines.push({ prefix, value: content.slice(prefix?.length ?? 0), end })
  }
  return lines
}

function dataOf(lines: readonly Line[]): string | undefined {
  const data = lines.filter(({ prefix }) => prefix !== undefined).map(({ value }) => value)
  return data.length === 0 ? undefined : data.join('\n')
}

function withData(lines: readonly Line[], text: string): string {
  const values = text.split(/\r\n|\r|\n/)
  const isData = lines.map(({ prefix }) => prefix !== undefined)
  const last = isData.lastIndexOf(true)
  let next = 0
  let result = ''
  for (const [index, { prefix, value, end }] of lines.entries()) {
    if (prefix === undefined) {
      result += value + end
      continue
    }
    // More lines than there were follow the last one; of fewer, the rest goes.
    const upTo = index === last ? values.length : Math.min(next + 1, values.length)
    for (; next < upTo; next++) result += dataLine(prefix, values[next]!, end)
  }
  return result
}

function dataLine(prefix: string, value: string, end: string): string {
  // A line that said nothing may have had no colon, and one space in front of a value is not part
  // of it.
  const isBare = !prefix.includes(':') && value !== ''
  const name = isBare || (prefix === 'data:' && value.startsWith(' ')) ? 'data: ' : prefix
  return name + value + end
}

/** Reads a JSON text as a message; undefined when it is none. */
export function messageIn(text: string): Message | undefined {
  try {
    return toMessage(parseJson(text))
  } catch {
    return undefined
  }
}

function isJson(text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}

/** Undefined for bytes that are not UTF-8: they could not be written again as they were. */
function decoded({ raw }: Frame): string | undefined {
  const text = asBuffer(raw).toString('utf8')
  return text.includes('\uFFFD') && !Buffer.from(text, 'utf8').equals(raw) ? undefined : text
}

function withoutBom(text: string): string {
  return text.startsWith(BOM) ? text.slice(1) : text
}
