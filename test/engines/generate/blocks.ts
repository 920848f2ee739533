import { Random } from '../../support/random.ts'
import type { Script } from '../script.ts'
import { anyScript } from './scripts.ts'
import { sweepScript, SWEEPS } from './sweeps.ts'

/** Scripts that are played one after the other by the same two sidecars. */
const BLOCK = 80
/**
 * Each eighth block goes through the places of some exchanges one by one, as long as there are any.
 */
const EACH = 8
/** Co-prime to the number of places, so that a few blocks see something of everything. */
const STRIDE = 1009

/** In some blocks there is only one connection to the upstream. */
export function isNarrow(block: number): boolean {
  return block % 16 === 3
}

/** The scripts of a block, the same for the same seed. */
export function scriptsOf(seed: number, block: number): Script[] {
  const random = new Random(seed + block * 7919)
  const sweeps = block % EACH === 1 ? Math.floor(block / EACH) * BLOCK : SWEEPS
  return Array.from({ length: BLOCK }, (_none, index) => {
    const turn = sweeps + index
    return turn < SWEEPS
      ? sweepScript((seed + turn * STRIDE) % SWEEPS)
      : anyScript(random, isNarrow(block))
  })
}
