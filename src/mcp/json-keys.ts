import { isRecord } from '../base/values.ts'
import { asBuffer } from '../base/bytes.ts'
import { MAX_JSON_DEPTH } from '../base/json/json-bounds.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
/** In longer strings the next quote is found by `indexOf`. */
const LONG = 64

/** Counts the keys in a valid JSON text, repeated keys each time. */
export function countKeys(bytes: Uint8Array): number {
  let keys = 0
  const size = bytes.length
  for (let i = 0; i < size; i++) {
    const byte = bytes[i]!
    if (byte === COLON) keys++
    else if (byte === QUOTE) i = endOfString(bytes, i + 1)
  }
  return keys
}

/** Returns the offset of the quote that ends a string. */
function endOfString(bytes: Uint8Array, start: number): number {
  const size = bytes.length
  let near = Math.min(start + LONG, size)
  for (let i = start; i < size; i++) {
    if (i >= near) {
      const quote = asBuffer(bytes).indexOf(QUOTE, i)
      if (quote < 0) return size
      // The backslashes before the quote decide: the loop reads them again one by one.
      let first = quote
      while (first > i && bytes[first - 1] === BACKSLASH) first--
      i = first
      near = Math.min(quote + LONG, size)
    }
    const byte = bytes[i]!
    if (byte === QUOTE) return i
    if (byte === BACKSLASH) i++
  }
  return size
}

/** Counts the keys in a parsed value; returns NaN when it is nested too deeply. */
export function countMembers(value: unknown, depth = 0): number {
  if (depth > MAX_JSON_DEPTH) return Number.NaN
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) {
      if (typeof element === 'object' && element !== null) {
        members += countMembers(element, depth + 1)
      }
    }
  } else if (isRecord(value)) {
    for (const key in value) {
      members++
      const member = value[key]
      if (typeof member === 'object' && member !== null) members += countMembers(member, depth + 1)
    }
  }
  return members
}
