import { standardNormal } from '../../base/seeded-random.ts'
import type { Static } from 'typebox'
import { durationText } from '../../base/units.ts'
import { duration, section } from './config-schema.ts'
import * as Type from 'typebox'

/** The ways to say how long, each a key of its own. */
export const distributionKeys = {
  fixed: Type.Optional(
    duration({
      description:
        'Delays the call by this duration. Set exactly one of `fixed`, `uniform`, `normal`, `exponential`, `pareto` and `paretoNormal`.',
      examples: ['2s'],
    }),
  ),
  jitter: Type.Optional(
    duration({
      description:
        'With `fixed`: varies the delay uniformly by up to this duration in either direction.',
    }),
  ),
  period: Type.Optional(
    duration({
      description:
        'With `jitter`: varies the delay around `fixed` as a sine wave with this period and an amplitude of `jitter`, in phase across all replicas.',
      examples: ['30s'],
    }),
  ),
  uniform: Type.Optional(
    section(
      {
        min: duration({ description: 'Sets the minimum of the distribution.' }),
        max: duration({ description: 'Sets the maximum of the distribution.' }),
      },
      { description: 'Draws the delay from a uniform distribution.' },
    ),
  ),
  normal: Type.Optional(
    section(
      {
        mean: duration({ description: 'Sets the mean of the distribution.' }),
        stddev: duration({ description: 'Sets the standard deviation of the distribution.' }),
      },
      { description: 'Draws the delay from a normal distribution. The delay is never below zero.' },
    ),
  ),
  exponential: Type.Optional(
    section(
      { mean: duration({ description: 'Sets the mean of the distribution.' }) },
      {
        description:
          'Draws the delay from an exponential distribution: most delays are short, a few are long.',
      },
    ),
  ),
  pareto: Type.Optional(
    section(
      {
        scale: duration({ description: 'Sets the minimum of the distribution.' }),
        shape: Type.Number({
          exclusiveMinimum: 0,
          maximum: 100,
          description:
            'Sets the shape: the smaller the value, the heavier the tail. At 1 or below, the mean is infinite, and only `max` limits the delays.',
        }),
      },
      {
        description:
          'Draws the delay from a Pareto distribution: most delays are near `scale`, a few are very long.',
      },
    ),
  ),
  paretoNormal: Type.Optional(
    section(
      {
        mean: duration({ description: 'Sets the mean of the distribution.' }),
        stddev: duration({ description: 'Sets the standard deviation of the distribution.' }),
      },
      {
        description:
          "Draws the delay from netem's `paretonormal` distribution: one quarter normal, three quarters Pareto with shape 3. The delay is never below zero.",
      },
    ),
  ),
}

const schema = Type.Object(distributionKeys)

/** A fixed duration, or a distribution of durations. */
export type DurationDistribution = Static<typeof schema>

/** The ways that are mutually exclusive. */
export const DISTRIBUTIONS = [
  'fixed',
  'uniform',
  'normal',
  'exponential',
  'pareto',
  'paretoNormal',
] as const

/** Provides random numbers from 0 to below 1, and the time in milliseconds since the epoch. */
export interface DurationSource {
  readonly random: () => number
  readonly now: () => number
}

/** Draws a duration in milliseconds: never negative, never above `max`. */
export function drawDuration(
  distribution: DurationDistribution,
  max: number,
  source: DurationSource,
): number {
  const ms = draw(distribution, source)
  return ms > 0 ? Math.min(ms, max) : 0
}

/** Describes the sampled durations. */
export function durationsText(distribution: DurationDistribution): string {
  const { fixed, jitter, period, uniform, normal, exponential, pareto, paretoNormal } = distribution
  if (fixed !== undefined) {
    const spread = jitter === undefined ? '' : ` ± ${durationText(jitter)}`
    const wave = period === undefined ? '' : ` in waves of ${durationText(period)}`
    return `${durationText(fixed)}${spread}${wave}`
  }
  if (uniform !== undefined) return `${durationText(uniform.min)} to ${durationText(uniform.max)}`
  const mean = normal?.mean ?? exponential?.mean ?? paretoNormal?.mean
  return mean === undefined
    ? `${durationText(pareto?.scale ?? 0)} or more`
    : `about ${durationText(mean)}`
}

function draw(distribution: DurationDistribution, { random, now }: DurationSource): number {
  const { fixed, jitter, period, uniform, normal, exponential, pareto, paretoNormal } = distribution
  if (fixed !== undefined) {
    if (jitter === undefined) return fixed
    if (period === undefined) return fixed + (random() * 2 - 1) * jitter
    return fixed + jitter * Math.sin((2 * Math.PI * (now() % period)) / period)
  }
  if (uniform !== undefined) return uniform.min + random() * (uniform.max - uniform.min)
  if (normal !== undefined) return normal.mean + normal.stddev * standardNormal(random)
  // 1 - random() is never zero, so that no logarithm or quotient below is infinite.
  if (exponential !== undefined) return -exponential.mean * Math.log(1 - random())
  if (pareto !== undefined) return pareto.scale / (1 - random()) ** (1 / pareto.shape)
  if (paretoNormal !== undefined) {
    const mixed = 0.25 * standardNormal(random) + 0.75 * standardPareto(random)
    return paretoNormal.mean + (paretoNormal.stddev * mixed) / MIXED_STDDEV
  }
  return 0
}

/**
 * The standard deviation of a quarter and three quarters of independent variables with deviation 1.
 */
const MIXED_STDDEV = Math.hypot(0.25, 0.75)

/** Draws from the Pareto distribution of shape 3, moved and scaled to mean 0 and deviation 1. */
function standardPareto(random: () => number): number {
  return ((1 - random()) ** (-1 / 3) - 1.5) / Math.sqrt(0.75)
}
