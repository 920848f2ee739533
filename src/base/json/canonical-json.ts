/** Values nested deeper count as null, because callers choose the depth. */
export const MAX_CANONICAL_DEPTH = 64

/**
 * Writes a JSON value in canonical form (RFC 8785): keys in order of their UTF-16 code units, no
 * spaces.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0)
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

function write(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (depth >= MAX_CANONICAL_DEPTH) return 'null'
  if (Array.isArray(value)) {
    return `[${value.map((element) => write(element, depth + 1)).join(',')}]`
  }
  const record = value as Readonly<Record<string, unknown>>
  const members = Object.keys(record)
    .filter((key) => record[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${write(record[key], depth + 1)}`)
  return `{${members.join(',')}}`
}
