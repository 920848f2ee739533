import type { Rejection } from './rejection.ts'

/** The maximum of the first stage in percent. */
const FIRST_STAGE = 25
/** The maximum factor between two stages. */
const MAX_FACTOR = 3
/** The maximum difference between two stages in percentage points. */
export const MAX_POINTS = 40

/** Returns the rejections of stages that grow too fast, or not at all. */
export function stageRejections(
  stages: readonly number[],
  key: 'stages' | 'pods',
): readonly Rejection[] {
  const rejections: Rejection[] = []
  for (const [index, share] of stages.entries()) {
    const before = stages[index - 1]
    const path = [key, index]
    if (share <= (before ?? 0)) {
      rejections.push({
        code: 'STAGES_NOT_ASCENDING',
        wrong: `the stage ${share}% does not widen ${before === undefined ? 'anything' : `the ${before}% before it`}`,
        fix: 'write stages from the smallest to the largest, each above the one before',
        path,
      })
    } else if (share > widest(before)) {
      rejections.push({
        code: 'STAGE_SKIPPED',
        wrong: `${before === undefined ? 'the first stage' : `from ${before}% to`} ${share}% skips a stage`,
        fix:
          before === undefined
            ? `begin with ${FIRST_STAGE}% or less`
            : `go to ${widest(before)}% at most: no more than ${MAX_FACTOR} times, and ${MAX_POINTS} points, at a time`,
        path,
      })
    }
  }
  return rejections
}

/** Returns the largest stage that may follow, or be the first. */
export function widest(before: number | undefined): number {
  if (before === undefined) return FIRST_STAGE
  const most = Math.min(before * MAX_FACTOR, before + MAX_POINTS, 100)
  return Math.round(most * 1e6) / 1e6
}
