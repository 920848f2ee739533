/** Which of the matching calls a rule considers, by their order. */
export interface OrdinalConfig {
  readonly first?: number | undefined
  readonly after?: number | undefined
  readonly every?: number | undefined
}

/**
 * True when the k-th matching call, counted from 1, is one of those. The keys apply one after the
 * other: of the calls behind the first `after`, each `every`-th, and of these the `first` ones.
 */
export function isConsidered(config: OrdinalConfig, k: number): boolean {
  const { first, after, every } = config
  let nth = after === undefined ? k : k - after
  if (nth < 1) return false
  if (every !== undefined && every > 1) {
    if (nth % every !== 0) return false
    nth /= every
  }
  return first === undefined || nth <= first
}
