import { type Alias, isAlias, isMap, isPair, isScalar, isSeq } from 'yaml'
import type { Path } from './problem.ts'

/** Returns the offset of the node at a path, or of the deepest existing one above. */
export function offsetOf(
  contents: unknown,
  targets: ReadonlyMap<Alias, unknown>,
  path: Path,
  atKey: boolean,
): number {
  let node = contents
  let offset = startOf(node) ?? 0
  for (const [index, step] of path.entries()) {
    if (isAlias(node)) node = targets.get(node)
    if (isMap(node)) {
      const pair = node.items.findLast(
        (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(step),
      )
      if (pair === undefined) return offset
      const key = startOf(pair.key) ?? offset
      offset = atKey && index === path.length - 1 ? key : (valueStart(pair.value) ?? key)
      node = pair.value
    } else if (isSeq(node) && typeof step === 'number') {
      node = node.items[step]
      offset = startOf(node) ?? offset
    } else {
      return offset
    }
  }
  return offset
}

/** Prefers the key where the value is empty. */
function valueStart(node: unknown): number | undefined {
  const range = isScalar(node) && node.value === null ? node.range : undefined
  return range !== undefined && range?.[0] === range?.[1] ? undefined : startOf(node)
}

function startOf(node: unknown): number | undefined {
  if (isMap(node) || isSeq(node) || isScalar(node) || isAlias(node)) return node.range?.[0]
  return undefined
}
