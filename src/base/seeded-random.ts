/** Numbers from 0 to below 1: the same ones for the same seed. */
export type RandomSource = () => number

/** A stream of numbers of its own for each seed and name. */
export function seededRandom(seed: number, stream = ''): RandomSource {
  let state = hashOf(`${seed}/${stream}`)
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

/** An integer from `low` to `high`, both included. */
export function intBetween(random: RandomSource, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1))
}

/** One of the items; there must be one. */
export function pick<T>(random: RandomSource, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)]!
}

/** Hashes the characters by FNV-1a: neighbouring seeds begin far from each other. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  }
  return hash
}
