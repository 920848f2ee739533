import type { Static } from 'typebox'
import { durationText } from '../../base/units.ts'
import { duration, section } from './config-schema.ts'
import * as Type from 'typebox'

/** The ways to say how long, each a key of its own. */
export const distributionKeys = {
  fixed: Type.Optional(duration({ description: 'Always this long.', examples: ['2s'] })),
  jitter: Type.Optional(
    duration({ description: 'With `fixed`: up to this much less or more, evenly spread.' }),
  ),
  uniform: Type.Optional(
    section(
      {
        min: duration({ description: 'The shortest.' }),
        max: duration({ description: 'The longest.' }),
      },
      { description: 'Evenly spread between two durations.' },
    ),
  ),
  normal: Type.Optional(
    section(
      {
        mean: duration({ description: 'The middle.' }),
        stddev: duration({ description: 'The standard deviation.' }),
      },
      { description: 'Bell-shaped around a mean; never below zero.' },
    ),
  ),
  exponential: Type.Optional(
    section(
      { mean: duration({ description: 'The mean.' }) },
      { description: 'Mostly short, seldom long.' },
    ),
  ),
  pareto: Type.Optional(
    section(
      {
        scale: duration({ description: 'The shortest.' }),
        shape: Type.Number({
          exclusiveMinimum: 0,
          maximum: 100,
          description: 'The smaller, the heavier the tail; at 1 and below there is no mean.',
        }),
      },
      { description: 'A heavy tail: most are near the scale, a few are very long.' },
    ),
  ),
}

const schema = Type.Object(distributionKeys)

/** A fixed duration, or a distribution of durations. */
export type DurationDistribution = Static<typeof schema>

/** The ways that exclude each other. */
export const DISTRIBUTIONS = ['fixed', 'uniform', 'normal', 'exponential', 'pareto'] as const

/** Draws a duration in milliseconds: never negative, never above `max`. */
export function drawDuration(
  distribution: DurationDistribution,
  max: number,
  random: () => number,
): number {
  const ms = draw(distribution, random)
  return ms > 0 ? Math.min(ms, max) : 0
}

/** Describes the sampled durations. */
export function durationsText(distribution: DurationDistribution): string {
  const { fixed, jitter, uniform, normal, exponential, pareto } = distribution
  if (fixed !== undefined) {
    const spread = jitter === undefined ? '' : ` ± ${durationText(jitter)}`
    return `${durationText(fixed)}${spread}`
  }
  if (uniform !== undefined) return `${durationText(uniform.min)} to ${durationText(uniform.max)}`
  const mean = normal?.mean ?? exponential?.mean
  return mean === undefined
    ? `${durationText(pareto?.scale ?? 0)} or more`
    : `about ${durationText(mean)}`
}

function draw(distribution: DurationDistribution, random: () => number): number {
  const { fixed, jitter, uniform, normal, exponential, pareto } = distribution
  if (fixed !== undefined) {
    return jitter === undefined ? fixed : fixed + (random() * 2 - 1) * jitter
  }
  if (uniform !== undefined) return uniform.min + random() * (uniform.max - uniform.min)
  // 1 - random() is never zero, so that no logarithm or quotient below is infinite.
  if (normal !== undefined) {
    const radius = Math.sqrt(-2 * Math.log(1 - random()))
    return normal.mean + normal.stddev * radius * Math.cos(2 * Math.PI * random())
  }
  if (exponential !== undefined) return -exponential.mean * Math.log(1 - random())
  if (pareto !== undefined) return pareto.scale / (1 - random()) ** (1 / pareto.shape)
  return 0
}
