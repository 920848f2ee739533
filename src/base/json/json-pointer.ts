/** The keys of a JSON Pointer (RFC 6901), or undefined when it is none. `""` is the whole value. */
export function parsePointer(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Returns the JSON Pointer to a place within another, of which the pointer is given. */
export function pointerTo(keys: readonly (string | number)[], from = ''): string {
  return keys.reduce<string>(
    (path, key) => `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    from,
  )
}

/** The value that the keys lead to, or undefined: JSON has no undefined of its own. */
export function pointedAt(value: unknown, keys: readonly string[]): unknown {
  let at = value
  for (const key of keys) {
    if (typeof at !== 'object' || at === null) return undefined
    if (Array.isArray(at)) {
      if (!isIndex(key)) return undefined
      at = (at as readonly unknown[])[Number(key)]
    } else {
      // Inherited properties are not part of the JSON.
      if (!Object.hasOwn(at, key)) return undefined
      at = (at as Readonly<Record<string, unknown>>)[key]
    }
  }
  return at
}

function isIndex(key: string): boolean {
  return key === '0' || /^[1-9][0-9]{0,8}$/.test(key)
}
