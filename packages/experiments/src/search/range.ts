/** The magnitudes of a search, from the mildest to the strongest, which may be the smaller number. */
export interface Range {
  readonly mildest: number
  readonly strongest: number
  /** True when only integers can be written. */
  readonly isWhole?: boolean
}

/** Returns the magnitude at a position: 0 is the mildest, 1 the strongest, by equal factors. */
export function magnitudeAt({ mildest, strongest, isWhole }: Range, position: number): number {
  if (position === 0 || position === 1) return position === 0 ? mildest : strongest
  const rounded = Number((mildest * (strongest / mildest) ** position).toPrecision(3))
  return isWhole === true ? Math.round(rounded) : rounded
}

/** Returns the position of a magnitude. */
export function positionOf({ mildest, strongest }: Range, magnitude: number): number {
  return Math.log(magnitude / mildest) / Math.log(strongest / mildest)
}

/** Returns the difference of positions between magnitudes that differ by a factor. */
export function stepOf({ mildest, strongest }: Range, factor: number): number {
  return Math.log(factor) / Math.abs(Math.log(strongest / mildest))
}
