import { fieldsOf, isRecord, textOf } from '../base/values.ts'
import type { JsonRpcId, Outcome } from './call.ts'
import { isId } from './json-rpc.ts'

/** The notification with which a client cancels a call. */
export const CANCELLED = 'notifications/cancelled'

/** Matches the reason of a client that timed out. */
const TIMED_OUT = /time(?:d[ -]?)?\s?out|deadline|time limit/i

/** Returns the id of the cancelled call; undefined when the cancellation names none. */
export function cancelledId(params: unknown): JsonRpcId | undefined {
  const id = isRecord(params) ? params['requestId'] : undefined
  return isId(id) ? id : undefined
}

/**
 * Returns the outcome of a cancelled call from the reason. Without a reason the client may have
 * timed out: the call counts as an error, so that no hang goes unnoticed.
 */
export function outcomeOfCancellation(params: unknown): Outcome {
  const reason = reasonOf(params)
  if (reason === undefined) return 'abandoned'
  return TIMED_OUT.test(reason) ? 'timeout' : 'cancelled'
}

/** Returns the reason that a client gives; undefined without one. */
export function reasonOf(params: unknown): string | undefined {
  return textOf(fieldsOf(params)['reason'])
}
