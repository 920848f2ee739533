/** The most bytes of memory of an object, an array or a member. */
const PIECE = 64

/** Returns an upper estimate of the memory of a parsed JSON value. */
export function jsonWeight(value: unknown): number {
  let weight = 0
  const left: unknown[] = [value]
  while (left.length > 0) {
    const each = left.pop()
    weight += PIECE
    if (typeof each === 'string') weight += 2 * each.length
    if (typeof each !== 'object' || each === null) continue
    if (Array.isArray(each)) {
      for (const item of each) left.push(item)
      continue
    }
    for (const key in each) {
      weight += PIECE + key.length
      left.push((each as Readonly<Record<string, unknown>>)[key])
    }
  }
  return weight
}
