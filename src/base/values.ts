/** A JSON object with unchecked fields. */
export type Fields = Readonly<Record<string, unknown>>

/** Returns true for JSON objects: neither null nor arrays. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns an object; an empty one for other values. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {}
}

/** Returns the objects of a list, without other values. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** Returns a string that is not empty; undefined for other values. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns the strings among an object's values. */
export function textsOf(value: unknown): Readonly<Record<string, string>> {
  const texts = Object.entries(fieldsOf(value)).filter(([, each]) => typeof each === 'string')
  return Object.fromEntries(texts) as Readonly<Record<string, string>>
}

/** Returns a finite number; 0 for other values. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

/** Freezes a value with all values in it; a frozen one is left as it is. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
  return value
}

/** Parses JSON; returns undefined for any other text, since JSON has no such value. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the object or list that a text holds as JSON, as many tools return it. */
export function jsonInText(text: string): object | undefined {
  return /^\s*[[{]/.test(text) ? (parsedJson(text) as object | undefined) : undefined
}

/** Values nested deeper count as null, because callers choose the depth. */
export const MAX_CANONICAL_DEPTH = 64

/**
 * Writes a JSON value in canonical form (RFC 8785): keys in order of their UTF-16 code units, no
 * spaces.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (depth >= MAX_CANONICAL_DEPTH) return 'null'
  if (Array.isArray(value)) {
    return `[${value.map((element) => canonicalJson(element, depth + 1)).join(',')}]`
  }
  const record = value as Readonly<Record<string, unknown>>
  const members = Object.keys(record)
    .filter((key) => record[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key], depth + 1)}`)
  return `{${members.join(',')}}`
}

/**
 * Returns true for equal JSON values, regardless of the order of keys. Undefined members are
 * ignored. Values that are nested too deeply are not equal.
 */
export function sameJson(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (depth >= MAX_CANONICAL_DEPTH || Array.isArray(a) !== Array.isArray(b)) return false
  if (Array.isArray(a) && a.length !== (b as readonly unknown[]).length) return false
  const left = a as Readonly<Record<string, unknown>>
  const right = b as Readonly<Record<string, unknown>>
  for (const key of Object.keys(left)) {
    const there = Object.hasOwn(right, key) ? right[key] : undefined
    if (left[key] !== there && !sameJson(left[key], there, depth + 1)) return false
  }
  for (const key of Object.keys(right)) {
    if (right[key] !== undefined && !Object.hasOwn(left, key)) return false
  }
  return true
}
