import { oneLine } from '../../base/text/foreign-text.ts'
import type { Logger } from '../../telemetry/log.ts'
import { type Decision, type Subject } from './decision.ts'
import type { Review } from './review.ts'

const MAX_SHOWN = 300

/** Writes one line about a decision. Contents of the object are never in it. */
export function logDecision(
  logger: Logger,
  subject: Subject,
  review: Review,
  decision: Decision,
): void {
  const { result, reason, message, warnings, lines } = decision
  const isNo = result === 'refused' || result === 'denied'
  const fields = {
    ...shownReview(review, subject),
    result,
    // The reason of an injected pod is its mode.
    ...(result === 'injected' ? { mode: reason, why: oneLine(message, MAX_SHOWN) } : { reason }),
    ...(isNo && { detail: oneLine([message, ...(lines ?? [])].join(' '), MAX_SHOWN) }),
    ...(warnings.length > 0 && {
      warnings: warnings.slice(0, 8).map((text) => oneLine(text, MAX_SHOWN)),
    }),
  }
  if (subject !== 'injection') {
    if (isNo) logger.warn(fields, `${subject} denied`)
    else logger.info(fields, `${subject} ${result}`)
  } else if (result === 'untouched') logger.info(fields, 'pod left as it is')
  else if (result === 'injected') logger.info(fields, 'pod injected')
  else logger.warn(fields, result === 'refused' ? 'pod refused' : 'pod not injected')
}

/** Returns the fields that name the object of a review. */
export function shownReview(review: Review, subject: Subject): object {
  const name = oneLine(review.podName, 80)
  return {
    uid: oneLine(review.uid, 64),
    namespace: oneLine(review.namespace, 80),
    ...(subject === 'injection'
      ? { pod: name, owner: oneLine(review.owner, 80) }
      : { resource: oneLine(review.resource, 80), name }),
    ...(review.dryRun && { dryRun: true }),
  }
}
