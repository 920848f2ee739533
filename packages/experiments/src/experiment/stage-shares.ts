/** The maximum of the first stage in percent. */
export const FIRST_STAGE = 25
/** The maximum factor between two stages. */
export const MAX_FACTOR = 3
/** The maximum difference between two stages in percentage points. */
export const MAX_POINTS = 40

/** Returns the maximum of the stage after `before`, or of the first stage. */
export function widest(before: number | undefined): number {
  if (before === undefined) return FIRST_STAGE
  const most = Math.min(before * MAX_FACTOR, before + MAX_POINTS, 100)
  return Math.round(most * 1e6) / 1e6
}

/** Returns the shares of stages up to the last, none of which skips a stage. */
export function stagesTo(first: number, last: number): readonly number[] {
  const stages: number[] = []
  for (let share = first; share < last; share = widest(share)) stages.push(share)
  return [...stages, last]
}
