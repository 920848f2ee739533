import { narrowedPercent } from './armed-rules.ts'
import type { StageResult } from './experiment-result.ts'
import type { Plan } from './plan.ts'
import { type Counts, sumOf } from './sidecars.ts'

/** The share of these rules changes with time, or from call to call. */
const VARYING = ['burst', 'ramp', 'stages']

/** Returns the mean of the sampled calls, and the probability of their difference from it. */
export function expectedSamples(
  { rules, by }: Pick<Plan, 'rules' | 'by'>,
  share: number | null,
  counts: Counts,
): Required<Pick<StageResult, 'expected' | 'chance'>> {
  const counted = (rules?.rules ?? []).map((rule) => {
    const { sampled, considered } = sumOf(counts.filter(([name]) => name === rule.name))
    const p = narrowedPercent(rule, by, share ?? 0) / 100
    const isFixed = share !== null && !VARYING.some((key) => key in rule)
    // Calls that share a key are sampled together.
    const isTested = isFixed && (rule['stickyBy'] ?? 'ordinal') === 'ordinal'
    return { isFixed, mean: considered * p, chance: isTested ? chance(sampled, considered, p) : 1 }
  })
  const isFixed = counted.length > 0 && counted.every((each) => each.isFixed)
  return {
    expected: isFixed ? counted.reduce((sum, { mean }) => sum + mean, 0) : null,
    // One of several tests is more often improbable.
    chance: isFixed ? Math.min(1, ...counted.map((each) => each.chance * counted.length)) : null,
  }
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
