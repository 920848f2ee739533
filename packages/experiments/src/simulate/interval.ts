/** A value of a simulated round: of the whole, and of each pod by itself. */
export interface RoundValue {
  readonly whole: number | null
  readonly pods: readonly (number | null)[]
}

/** A predicted value, and the interval in which that of a run lies with a probability of 95 %. */
export interface Predicted {
  readonly value: number
  readonly low: number
  readonly high: number
}

/**
 * Predicts from the values of rounds. Of 39 or 199 rounds, and of a run that is one more, the run
 * lies between these ranks in 95 % of cases, whatever the distribution. A round that has only some
 * of the pods differs more from round to round than the fleet: the part of the variance that is
 * between pods is reduced.
 */
export function predict(rounds: readonly RoundValue[], fleet: number): Predicted | null {
  const known = rounds.flatMap(({ whole, pods }) => (whole === null ? [] : [{ whole, pods }]))
  if (known.length === 0) return null
  const wholes = known.map(({ whole }) => whole)
  const mean = meanOf(wholes)
  const some = known[0]!.pods.length
  const total = varianceOf(wholes)
  const between = meanOf(
    known.map(({ pods }) => varianceOf(pods.filter((value): value is number => value !== null))),
  )
  const left = Math.max(0, total - between / some + between / fleet)
  const shrink = some >= fleet || total === 0 ? 1 : Math.min(1, Math.sqrt(left / total))
  const sorted = wholes.map((whole) => mean + (whole - mean) * shrink).sort((a, b) => a - b)
  const out = Math.max(1, Math.floor((sorted.length + 1) * 0.025))
  return {
    value: sorted[Math.floor(sorted.length / 2)]!,
    low: sorted[out - 1]!,
    high: sorted.at(-out)!,
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function varianceOf(values: readonly number[]): number {
  if (values.length < 2) return 0
  const mean = meanOf(values)
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
}
