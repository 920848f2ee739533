import type { RandomSource } from '../../src/base/seeded-random.ts'

const POPULATION = 10
const MUTATION = 0.7
const CROSSOVER = 0.6
/** The standard deviation of a mutation, as a share of the range. */
const SPREAD = 0.1
/** The individuals whose mean is the result. */
const BEST = 5

interface Individual {
  readonly position: number
  readonly fitness: number
}

/**
 * Searches the position at which a measured share is nearest to a limit, by a genetic algorithm with
 * roulette selection. Yields the mean of the best positions after each run: the best alone is the one
 * with the luckiest measurement.
 */
export function* geneticSearch(
  measure: (position: number) => number,
  limit: number,
  random: RandomSource,
): Generator<number, never> {
  let best: readonly Individual[] = []
  let population: readonly Individual[] = []
  for (;;) {
    const next: Individual[] = []
    while (next.length < POPULATION) {
      const position = population.length === 0 ? random() : child(population, random)
      const fitness = 1 / (0.01 + Math.abs(measure(position) - limit) / limit)
      next.push({ position, fitness })
      best = [...best, { position, fitness }].toSorted((one, other) => other.fitness - one.fitness)
      best = best.slice(0, BEST)
      yield best.reduce((total, each) => total + each.position, 0) / best.length
    }
    population = next
  }
}

function child(population: readonly Individual[], random: RandomSource): number {
  const first = roulette(population, random)
  const second = roulette(population, random)
  const weight = random() < CROSSOVER ? random() : 1
  const mixed = weight * first + (1 - weight) * second
  if (random() >= MUTATION) return mixed
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.min(1, Math.max(0, mixed + SPREAD * normal))
}

function roulette(population: readonly Individual[], random: RandomSource): number {
  let left = random() * population.reduce((total, { fitness }) => total + fitness, 0)
  for (const { position, fitness } of population) {
    left -= fitness
    if (left <= 0) return position
  }
  return population.at(-1)!.position
}
