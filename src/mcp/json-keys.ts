import { isRecord } from '../base/values.ts'
import { endOfString, MAX_JSON_DEPTH } from '../base/json/json-bounds.ts'

/** Counts the keys in a valid JSON text, repeated keys each time. */
export function countKeys(text: string): number {
  let keys = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x3a) keys++
    else if (code === 0x22) at = endOfString(text, at)
  }
  return keys
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
