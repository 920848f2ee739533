import { narrowedPercent } from './armed-rules.ts'
import type { Plan, WrittenRule } from './plan.ts'
import type { Counts } from './sidecars.ts'

/** The share of these rules changes with time, or from call to call. */
const VARYING = ['burst', 'ramp', 'stages']

/** Compares the sampled calls of a stage with its share. */
export interface ExpectedSamples {
  /** The mean of the sampled calls over many runs; null where a share is not fixed. */
  readonly expected: number | null
  /** The probability of a difference like this; null where calls are not sampled one by one. */
  readonly chance: number | null
}

export function expectedSamples(
  { rules, by }: Pick<Plan, 'rules' | 'by'>,
  share: number | null,
  counts: Counts,
): ExpectedSamples {
  const counted = (rules?.rules ?? []).flatMap((rule) => {
    const found = counts.get(rule.name)
    if (found === undefined || share === null) return []
    return [{ rule, ...found, p: narrowedPercent(rule, by, share) / 100 }]
  })
  const isFixed = counted.length > 0 && !counted.some(({ rule }) => isVarying(rule))
  const tested = counted.filter(({ rule }) => !isVarying(rule) && isByOrdinal(rule))
  const chances = tested.map(({ sampled, considered, p }) => chance(sampled, considered, p))
  return {
    expected: isFixed ? counted.reduce((sum, { considered, p }) => sum + considered * p, 0) : null,
    // One of several tests is more often improbable.
    chance: chances.length === 0 ? null : Math.min(1, Math.min(...chances) * chances.length),
  }
}

function isVarying(rule: WrittenRule): boolean {
  return VARYING.some((key) => key in rule)
}

/** Returns false for calls that are sampled together, by a key that they share. */
function isByOrdinal({ stickyBy = 'ordinal' }: WrittenRule): boolean {
  return stickyBy === 'ordinal'
}

/** Returns the two-sided probability of at least this distance from the mean of a binomial. */
export function chance(sampled: number, calls: number, p: number): number {
  const mean = calls * p
  if (p <= 0 || p >= 1) return sampled === mean ? 1 : 0
  const isAbove = sampled >= mean
  const odds = p / (1 - p)
  const ways = logFactorial(calls) - logFactorial(sampled) - logFactorial(calls - sampled)
  let term = Math.exp(ways + sampled * Math.log(p) + (calls - sampled) * Math.log(1 - p))
  let tail = 0
  // The terms fall from here to the end of the tail.
  for (let k = sampled; term > tail * 1e-9; k += isAbove ? 1 : -1) {
    tail += term
    term *= isAbove ? ((calls - k) / (k + 1)) * odds : k / (calls - k + 1) / odds
  }
  return Math.min(1, 2 * tail)
}

/** Approximates by the series of Stirling, to four digits at least. */
function logFactorial(n: number): number {
  const x = n + 1
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + 1 / (12 * x)
}
