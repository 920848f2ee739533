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
