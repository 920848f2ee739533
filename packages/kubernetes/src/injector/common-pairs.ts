/** Returns the index pairs of the longest common sequence. */
export function commonPairs<Item>(
  before: readonly Item[],
  after: readonly Item[],
  isSame: (one: Item, other: Item) => boolean,
): (readonly [number, number])[] {
  const width = after.length + 1
  const same = new Uint8Array(before.length * width)
  const best = new Uint32Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const at = i * width + j
      if (isSame(before[i]!, after[j]!)) same[at] = 1
      best[at] = same[at] ? best[at + width + 1]! + 1 : Math.max(best[at + width]!, best[at + 1]!)
    }
  }
  const pairs: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < before.length && j < after.length;) {
    const at = i * width + j
    if (same[at]) pairs.push([i++, j++])
    else if (best[at + width]! >= best[at + 1]!) i++
    else j++
  }
  return pairs
}
