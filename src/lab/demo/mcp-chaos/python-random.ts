import type { RandomSource } from '../../../base/seeded-random.ts'

const SIZE = 624
const OFFSET = 397

/** Returns the numbers of `random.Random(seed).random()` of Python: MT19937 with 53 bits. */
export function pythonRandom(seed: number): RandomSource {
  const state = seeded(seed)
  let next = SIZE
  const word = (): number => {
    if (next === SIZE) {
      advance(state)
      next = 0
    }
    let y = state[next++]!
    y ^= y >>> 11
    y ^= (y << 7) & 0x9d2c5680
    y ^= (y << 15) & 0xefc60000
    return (y ^ (y >>> 18)) >>> 0
  }
  return () => ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53
}

/** Returns the state for a seed below 2³², which Python takes as an array of one word. */
function seeded(seed: number): Uint32Array {
  const state = new Uint32Array(SIZE)
  state[0] = 19_650_218
  for (let i = 1; i < SIZE; i++) state[i] = Math.imul(mixed(state, i), 1_812_433_253) + i
  let i = 1
  const step = (factor: number, added: (i: number) => number): void => {
    state[i] = (state[i]! ^ Math.imul(mixed(state, i), factor)) + added(i)
    if (++i < SIZE) return
    state[0] = state[SIZE - 1]!
    i = 1
  }
  for (let k = 0; k < SIZE; k++) step(1_664_525, () => seed)
  for (let k = 1; k < SIZE; k++) step(1_566_083_941, (at) => -at)
  state[0] = 0x80000000
  return state
}

function mixed(state: Uint32Array, i: number): number {
  const before = state[i - 1]!
  return before ^ (before >>> 30)
}

function advance(state: Uint32Array): void {
  for (let i = 0; i < SIZE; i++) {
    const y = (state[i]! & 0x80000000) | (state[(i + 1) % SIZE]! & 0x7fffffff)
    state[i] = state[(i + OFFSET) % SIZE]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0)
  }
}
