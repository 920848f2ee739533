/**
 * Parses a JSON Pointer (RFC 6901) into keys; undefined for other texts. `""` is the whole value.
 */
export function parsePointer(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Appends keys to a JSON Pointer. */
export function pointerTo(keys: readonly (string | number)[], from = ''): string {
  return keys.reduce<string>(
    (path, key) => `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    from,
  )
}

/** Returns the value that the keys select; undefined without one. */
export function pointedAt(value: unknown, keys: readonly string[]): unknown {
  let at = value
  for (const key of keys) {
    // Inherited properties and the length of an array are not part of the JSON.
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    if (Array.isArray(at) && key === 'length') return undefined
    at = (at as Readonly<Record<string, unknown>>)[key]
  }
  return at
}
