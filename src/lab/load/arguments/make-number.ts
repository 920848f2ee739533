import type { RandomSource } from '../../../base/seeded-random.ts'

const REACH = 100

/** Generates a number for a schema of type `number` or `integer`. */
export function makeNumber(
  schema: Readonly<Record<string, unknown>>,
  whole: boolean,
  random: RandomSource,
): number {
  const multiple = numberOf(schema['multipleOf'])
  // Integers are multiples of 1; other numbers have two decimals.
  const step = multiple !== undefined && multiple > 0 ? stepOf(multiple, whole) : whole ? 1 : 0.01
  const [low, high] = boundsOf(schema, step)
  const first = Math.ceil(low / step - 1e-9)
  const last = Math.floor(high / step + 1e-9)
  const chosen = (first + Math.floor(random() * Math.max(1, last - first + 1))) * step
  // Avoids the rounding errors of multiples of fractions.
  return Number(chosen.toPrecision(12))
}

function stepOf(multiple: number, whole: boolean): number {
  if (!whole || Number.isInteger(multiple)) return multiple
  for (let times = 2; times <= 1000; times++) {
    const step = Number((multiple * times).toPrecision(12))
    if (Number.isInteger(step)) return step
  }
  return multiple
}

function boundsOf(schema: Readonly<Record<string, unknown>>, step: number): [number, number] {
  const { exclusiveMinimum, exclusiveMaximum } = schema
  let low = numberOf(schema['minimum'])
  let high = numberOf(schema['maximum'])
  // In draft 4 the exclusive bounds are booleans.
  if (exclusiveMinimum === true && low !== undefined) low += step
  if (exclusiveMaximum === true && high !== undefined) high -= step
  const above = numberOf(exclusiveMinimum)
  const below = numberOf(exclusiveMaximum)
  if (above !== undefined) low = Math.max(low ?? -Infinity, beyond(above, step, 1))
  if (below !== undefined) high = Math.min(high ?? Infinity, beyond(below, step, -1))
  if (low === undefined) return high === undefined ? [1, REACH] : [high - REACH, high]
  return [low, high ?? Math.max(low, 0) + REACH]
}

/** Returns the nearest multiple of the step, excluding the bound itself. */
function beyond(bound: number, step: number, direction: 1 | -1): number {
  const at = bound / step
  return (direction === 1 ? Math.floor(at + 1e-9) + 1 : Math.ceil(at - 1e-9) - 1) * step
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
