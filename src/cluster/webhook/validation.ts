import { DecideError } from './decide.ts'
import type { Decision } from './decision.ts'
import type { Review } from './review.ts'

/** Returns the decision that lets an object pass. */
export function accepted(reason: string, warnings: readonly string[] = []): Decision {
  return { result: 'accepted', allowed: true, reason, message: '', patch: [], warnings }
}

/** Returns the decision that lets an object pass that this webhook does not check. */
export function notChecked(reason: string, warnings: readonly string[] = []): Decision {
  return { result: 'untouched', allowed: true, reason, message: '', patch: [], warnings }
}

/** Returns the decision that refuses an object. */
export function denied(reason: string, message: string, lines: readonly string[] = []): Decision {
  return { result: 'denied', allowed: false, reason, message, lines, patch: [], warnings: [] }
}

/** Reports a review of something else, which the rules of the webhook configuration should not send. */
export function notMeant(review: Review, meant: string): Decision {
  return notChecked('not_meant', [`${review.about} is not checked here; this is for ${meant}`])
}

/** Makes a `DecideError` of whatever fails, so that `failurePolicy` decides. */
export async function guarded(what: string, check: () => Promise<Decision>): Promise<Decision> {
  try {
    return await check()
  } catch (error) {
    if (error instanceof DecideError) throw error
    throw new DecideError('internal_error', `squall failed on ${what}`, error)
  }
}
