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
  const rounds = Math.min(values.length, against.length)
  return median(Array.from({ length: rounds }, (_, i) => (values[i] ?? 0) / (against[i] ?? 0)))
}
