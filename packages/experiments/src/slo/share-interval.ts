/** The 97.5th percentile of the normal distribution. */
const Z = 1.96

/** Returns the 95 % interval of a share by Wilson, which is true of few and of extreme counts. */
export function shareInterval(part: number, whole: number): readonly [low: number, high: number] {
  const share = Math.min(1, part / whole)
  const spread = Z * Math.sqrt((share * (1 - share)) / whole + (Z / (2 * whole)) ** 2)
  const at = (sign: number): number =>
    (share + Z ** 2 / (2 * whole) + sign * spread) / (1 + Z ** 2 / whole)
  return [Math.max(0, at(-1)), Math.min(1, at(1))]
}
