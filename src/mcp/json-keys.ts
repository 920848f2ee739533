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
  if (typeof value !== 'object' || value === null) return 0
  if (depth > MAX_JSON_DEPTH) return Number.NaN
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  let members = Array.isArray(value) ? 0 : parts.length
  for (const part of parts) members += countMembers(part, depth + 1)
  return members
}
