import { parsePointer } from '../../base/json/json-pointer.ts'

/** The longest pointer that is taken. */
export const MAX_POINTER = 1024
const MAX_KEYS = 50

/** Returns the problem of a JSON Pointer; undefined when it is valid. */
export function pointerProblem(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'a JSON Pointer begins with `/`, as in `/items/0/price`'
  if (pointer.length > MAX_POINTER) return `a pointer has at most ${MAX_POINTER} characters`
  const keys = parsePointer(pointer)
  if (keys === undefined) return 'in a JSON Pointer, `~` is written `~0` and `/` in a key `~1`'
  return keys.length > MAX_KEYS ? `a pointer has at most ${MAX_KEYS} keys` : undefined
}
