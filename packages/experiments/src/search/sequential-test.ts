/** The calls of a short time. */
export interface Batch {
  readonly calls: number
  /** The calls among them that the condition counts as failed. */
  readonly failed: number
}

/** The accepted shares of wrong decisions. */
export interface ErrorRates {
  /** Decisions for `failed` at a magnitude that passes. */
  readonly falseFailed: number
  /** Decisions for `passed` at a magnitude that fails. */
  readonly falsePassed: number
}

export interface Decision {
  readonly kind: 'passed' | 'failed' | 'undecided'
  /** The odds against a wrong decision; 1 without a decision. */
  readonly evidence: number
}

export const UNDECIDED: Decision = { kind: 'undecided', evidence: 1 }

/** The distances of alternatives above the limit, as shares of the greatest one. */
const ABOVE = Array.from({ length: 12 }, (_, index) => 2 ** -(index + 1))
/** The distances below the limit, which is often close to 0. */
const BELOW = [0.98, 0.9, 0.75, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32]
/** Limits the ratio, which may exceed all numbers. */
const MAX_RATIO = 1e9
/** Neighbouring batches are joined into about 16 groups, so that slow waves count as variance. */
const GROUPS = 16
/** The variance between fewer groups is unknown. */
const MIN_GROUPS = 5

/**
 * Decides by two sequential probability ratio tests, which may look after every batch, if the share
 * of failed calls is above `limit`. Each test mixes alternatives, so that its error rate is valid
 * at any distance from the limit. Calls that fail together count as fewer calls.
 */
export function decide(batches: readonly Batch[], limit: number, rates: ErrorRates): Decision {
  const calls = sum(batches, 'calls')
  if (calls === 0) return UNDECIDED
  const failed = sum(batches, 'failed')
  const scale = dispersion(batches, failed / calls)
  const bad = failed / scale
  const good = (calls - failed) / scale
  const ratio = (share: number): number =>
    Math.exp(bad * Math.log(share / limit) + good * Math.log((1 - share) / (1 - limit)))
  const above = mean(ABOVE.map((step) => ratio(limit + (1 - limit) * step)))
  if (above >= 1 / rates.falseFailed) return { kind: 'failed', evidence: above }
  const below = mean(BELOW.map((step) => ratio(limit * (1 - step))))
  if (below >= 1 / rates.falsePassed) return { kind: 'passed', evidence: below }
  return UNDECIDED
}

/** Returns the mean of likelihood ratios. */
function mean(ratios: readonly number[]): number {
  return Math.min(MAX_RATIO, ratios.reduce((total, each) => total + each, 0) / ratios.length)
}

/** Returns the variance between groups of batches, as a multiple of that of independent calls. */
function dispersion(batches: readonly Batch[], share: number): number {
  const groups = grouped(batches)
  const expected = share * (1 - share)
  if (groups.length < MIN_GROUPS || expected === 0) return 1
  const squares = groups.reduce(
    (total, { calls, failed }) => total + (failed - share * calls) ** 2 / (calls * expected),
    0,
  )
  // The mean of the inverse of an estimate from few groups is that of two groups less.
  return Math.max(1, squares / (groups.length - 3))
}

function grouped(batches: readonly Batch[]): readonly Batch[] {
  const size = Math.max(1, Math.floor(batches.length / GROUPS))
  const groups: Batch[] = []
  for (let at = 0; at < batches.length; at += size) {
    const part = batches.slice(at, at + size)
    const calls = sum(part, 'calls')
    if (calls > 0) groups.push({ calls, failed: sum(part, 'failed') })
  }
  return groups
}

export function sum(batches: readonly Batch[], key: keyof Batch): number {
  return batches.reduce((total, batch) => total + batch[key], 0)
}
