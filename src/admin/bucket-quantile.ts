/**
 * The value below which this share of all values lies, as far as buckets can tell: within a bucket
 * values count as evenly spread, and what is beyond the last bound counts as that bound. Null where
 * there are no values.
 */
export function bucketQuantile(
  share: number,
  bounds: Float64Array,
  counts: Float64Array,
): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = share * total
  let below = 0
  for (const [i, bound] of bounds.entries()) {
    const count = counts[i] ?? 0
    if (count > 0 && below + count >= rank) {
      const lower = i === 0 ? 0 : (bounds[i - 1] ?? 0)
      return lower + ((bound - lower) * (rank - below)) / count
    }
    below += count
  }
  return bounds.at(-1) ?? null
}
