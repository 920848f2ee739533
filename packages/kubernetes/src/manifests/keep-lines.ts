import { commonPairs } from '../injector/common-pairs.ts'

/** Comparing more lines than this with as many others takes too long. */
const MOST_PAIRS = 4_000_000

/**
 * Carries a change over to a text that is written a little differently: `before` is the text as a
 * writer would write it, `after` the same with a change. Lines that the change leaves alone stay
 * exactly as they are in the text. Undefined when that takes too long.
 */
export function keepLines(text: string, before: string, after: string): string | undefined {
  const own = text.split('\n')
  const old = before.split('\n')
  const fresh = after.split('\n')
  // Which line of the text stands for which line of the writer.
  const matches = pairs(old.map(bare), own.map(bare))
  const kept = pairs(old, fresh)
  if (matches === undefined || kept === undefined) return undefined
  const ownOf = new Map(matches)
  const keptBy = new Map(kept.map(([i, j]) => [j, i]))
  const gone = new Set(old.keys())
  for (const [i] of kept) gone.delete(i)
  const removed = new Set([...gone].map((i) => ownOf.get(i)))
  const lines: string[] = []
  let next = 0
  for (const [j, line] of fresh.entries()) {
    const i = keptBy.get(j)
    const place = i === undefined ? undefined : ownOf.get(i)
    if (place === undefined) {
      lines.push(line)
      continue
    }
    // Blank lines and the like that the writer would not have kept.
    for (; next < place; next++) if (!removed.has(next)) lines.push(own[next]!)
    lines.push(own[place]!)
    next = place + 1
  }
  for (; next < own.length; next++) if (!removed.has(next)) lines.push(own[next]!)
  return lines.join('\n')
}

/** Returns the text of a line without its layout. */
function bare(line: string): string {
  return line.replace(/\s+/g, '')
}

/** The longest list of pairs of equal lines, in the order of both. */
function pairs(
  one: readonly string[],
  other: readonly string[],
): readonly (readonly [number, number])[] | undefined {
  let start = 0
  while (start < one.length && start < other.length && one[start] === other[start]) start++
  let end = 0
  const most = Math.min(one.length, other.length) - start
  while (end < most && one[one.length - 1 - end] === other[other.length - 1 - end]) end++
  const [ours, theirs] = [one, other].map((lines) => lines.slice(start, lines.length - end))
  if (ours!.length * theirs!.length > MOST_PAIRS) return undefined
  const middle = commonPairs(ours!, theirs!, (line, fresh) => line === fresh)
  return [
    ...Array.from({ length: start }, (_, i) => [i, i] as const),
    ...middle.map(([i, j]) => [start + i, start + j] as const),
    ...Array.from(
      { length: end },
      (_, k) => [one.length - end + k, other.length - end + k] as const,
    ),
  ]
}
