const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Splits a JSON array into the bytes of its elements, so that other elements keep their bytes after
 * a change. Returns undefined for other values. The bytes must be valid JSON.
 */
export function jsonElements(bytes: Uint8Array): Uint8Array[] | undefined {
  let at = 0
  while (at < bytes.length && isBlank(bytes[at]!)) at++
  if (bytes[at] !== 0x5b) return undefined
  const elements: Uint8Array[] = []
  let depth = 0
  let start = at + 1
  for (at++; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || (byte === 0x5d && depth > 0)) depth--
    else if (depth === 0 && (byte === 0x2c || byte === 0x5d)) {
      const element = trimmed(bytes, start, at)
      if (element.length > 0) elements.push(element)
      if (byte === 0x5d) return elements
      start = at + 1
    }
  }
  return undefined
}

/** Joins elements to an array. */
export function jsonArray(elements: readonly Uint8Array[]): Buffer {
  const rest = elements.slice(1).flatMap((element) => [COMMA, element])
  return Buffer.concat([OPEN, ...elements.slice(0, 1), ...rest, CLOSE])
}

/** Inserts elements at the start of an array that is not empty; `start` is its first part. */
export function withElementsInFront(
  start: Uint8Array,
  elements: readonly Uint8Array[],
): Uint8Array | undefined {
  let at = 0
  while (at < start.length && isBlank(start[at]!)) at++
  if (start[at] !== 0x5b) return undefined
  const parts: Uint8Array[] = [OPEN]
  for (const element of elements) parts.push(element, COMMA)
  return Buffer.concat([...parts, start.subarray(at + 1)])
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
const MARK = Buffer.from('\ufeff')

function endOfString(bytes: Uint8Array, from: number): number {
  let at = from + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

function trimmed(bytes: Uint8Array, from: number, to: number): Uint8Array {
  let start = from
  let end = to
  while (start < end && isBlank(bytes[start]!)) start++
  while (end > start && isBlank(bytes[end - 1]!)) end--
  return bytes.subarray(start, end)
}

/** Returns true for whitespace, and for the bytes of a byte order mark. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || MARK.includes(byte)
}
