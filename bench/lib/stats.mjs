/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * The middle of the per-round ratios: rounds lie close in time, so drift of the machine cancels.
 * @param {readonly number[]} values
 * @param {readonly number[]} against
 */
export function medianRatio(values, against) {
  return median(pairs(values, against).map(([value, other]) => value / other))
}

/**
 * The middle of the per-round differences, for the same reason.
 * @param {readonly number[]} values
 * @param {readonly number[]} against
 */
export function medianDifference(values, against) {
  return median(pairs(values, against).map(([value, other]) => value - other))
}

/** @param {readonly number[]} values @param {readonly number[]} against @returns {[number, number][]} */
function pairs(values, against) {
  const rounds = Math.min(values.length, against.length)
  return Array.from({ length: rounds }, (_, i) => [values[i] ?? 0, against[i] ?? 0])
}

/**
 * The value below which that share of all lies; NaN of none.
 * @param {readonly number[]} sorted
 * @param {number} share
 */
export function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
