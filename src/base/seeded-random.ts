import { randomInt } from 'node:crypto'

/** Generates numbers from 0 to below 1, equal for equal seeds. */
export type RandomSource = () => number

/** Creates a generator for a seed and a name. */
export function seededRandom(seed: number, stream = ''): RandomSource {
  let state = hashOf(`${seed}/${stream}`)
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

/** Draws a seed that a rules file, a plan and a flag accept. */
export function drawSeed(): number {
  return randomInt(2 ** 32)
}

/** Returns an integer from `low` to `high`, both included. */
export function intBetween(random: RandomSource, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1))
}

/** Returns one of the items, which must not be empty. */
export function pick<T>(random: RandomSource, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)]!
}

/** Draws from the normal distribution of mean 0 and deviation 1. */
export function standardNormal(random: RandomSource): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()))
  return radius * Math.cos(2 * Math.PI * random())
}

/** Hashes the characters by FNV-1a, so that similar seeds have unrelated numbers. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  }
  return hash
}
