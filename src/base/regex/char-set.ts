/** A set of code points as sorted, disjoint, inclusive ranges: low, high, low, high, … */
export type CharSet = readonly number[]

export const MAX_CODE_POINT = 0x10ffff

export const DIGITS: CharSet = [0x30, 0x39]
export const WORD: CharSet = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
export const SPACE: CharSet = [
  0x09, 0x0d, 0x20, 0x20, 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f,
  0x202f, 0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff,
]
const LINE_ENDS: CharSet = [0x0a, 0x0a, 0x0d, 0x0d, 0x2028, 0x2029]
export const NOT_LINE_END: CharSet = negate(LINE_ENDS)
const ASCII_LETTERS = [
  [0x41, 0x5a, 32],
  [0x61, 0x7a, -32],
] as const

/** Returns the code points that are not in the set. */
export function negate(set: CharSet): CharSet {
  const out: number[] = []
  let from = 0
  for (let i = 0; i < set.length; i += 2) {
    if (set[i]! > from) out.push(from, set[i]! - 1)
    from = set[i + 1]! + 1
  }
  if (from <= MAX_CODE_POINT) out.push(from, MAX_CODE_POINT)
  return out
}

/** Sorts ranges and joins adjacent ones. */
export function normalize(ranges: readonly number[]): CharSet {
  const pairs: [number, number][] = []
  for (let i = 0; i < ranges.length; i += 2) pairs.push([ranges[i]!, ranges[i + 1]!])
  pairs.sort((a, b) => a[0] - b[0])
  const out: number[] = []
  for (const [low, high] of pairs) {
    const last = out.length - 1
    if (last > 0 && low <= out[last]! + 1) out[last] = Math.max(out[last]!, high)
    else out.push(low, high)
  }
  return out
}

/** Adds the other case of every ASCII letter. */
export function foldAscii(set: CharSet): CharSet {
  const out = [...set]
  for (let i = 0; i < set.length; i += 2) {
    for (const [first, last, toOtherCase] of ASCII_LETTERS) {
      const low = Math.max(set[i]!, first)
      const high = Math.min(set[i + 1]!, last)
      if (low <= high) out.push(low + toOtherCase, high + toOtherCase)
    }
  }
  return normalize(out)
}

/** Returns true for a code point in the set. */
export function has(set: CharSet, code: number): boolean {
  for (let i = 0; i < set.length; i += 2) {
    if (code < set[i]!) return false
    if (code <= set[i + 1]!) return true
  }
  return false
}
