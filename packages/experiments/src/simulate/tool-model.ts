import { type RandomSource, standardNormal } from '#base'
import type { CallResponse } from '../load/clients/load-client.ts'
import type { MeasuredTool } from './measured.ts'

/** Draws the attempts of a tool without faults. */
export interface ToolModel {
  readonly tool: string
  /** The shortest latency: at most this long takes a response that the sidecar makes itself. */
  readonly least: number
  /** Returns the failure of an attempt; undefined for a success. */
  fails(random: RandomSource): CallResponse | undefined
  /** Returns milliseconds. */
  latency(random: RandomSource): number
}

/**
 * Draws one of the behaviours with which the measurement is consistent: the share of failures from
 * its posterior (Jeffreys), the latencies from the Bayesian bootstrap.
 */
export function drawTool(tool: string, measured: MeasuredTool, random: RandomSource): ToolModel {
  const { attempts, failures, latencies } = measured
  const failed = failures.reduce((sum, { count }) => sum + count, 0)
  const bad = gamma(failed + 0.5, random)
  const share = bad / (bad + gamma(Math.max(0, attempts - failed) + 0.5, random))
  const ways = cumulated(failures.map(({ count }) => count))
  const weights = cumulated(latencies.map(([, count]) => gamma(count, random)))
  return {
    tool,
    least: latencies[0]![0],
    fails: (next) => {
      if (next() >= share) return undefined
      return failures.length === 0 ? UNSEEN : failures[chosen(ways, next)]!.response
    },
    latency: (next) => latencies[chosen(weights, next)]![0],
  }
}

/** The failure of a tool for which none was measured. */
const UNSEEN: CallResponse = { kind: 'tool', markers: [] }

/** Returns the sums of the first weights. */
export function cumulated(weights: readonly number[]): Float64Array {
  let sum = 0
  return Float64Array.from(weights, (weight) => (sum += weight))
}

/** Chooses an index by weights. */
export function chosen(sums: Float64Array, random: RandomSource): number {
  const at = random() * sums.at(-1)!
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (sums[middle]! > at) high = middle
    else low = middle + 1
  }
  return low
}

/** Draws from the gamma distribution of scale 1 (Marsaglia and Tsang). */
function gamma(shape: number, random: RandomSource): number {
  if (shape < 1) return gamma(shape + 1, random) * (1 - random()) ** (1 / shape)
  const d = shape - 1 / 3
  for (;;) {
    const x = standardNormal(random)
    const v = (1 + x / Math.sqrt(9 * d)) ** 3
    if (v > 0 && Math.log(1 - random()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v
  }
}
