import { isRecord } from '../base/values.ts'
import type { JsonRpcId, Outcome } from './call.ts'
import { isId } from './json-rpc.ts'

/** The notification by which a client gives a call up. */
export const CANCELLED = 'notifications/cancelled'

/** A reason that means that the client's patience ran out. */
const TIMED_OUT = /time(?:d[ -]?)?\s?out|deadline|time limit/i

/** Reads which call a cancellation is about; undefined when it names none. */
export function cancelledId(params: unknown): JsonRpcId | undefined {
  const id = isRecord(params) ? params['requestId'] : undefined
  return isId(id) ? id : undefined
}

/**
 * Tells from the reason of a cancellation how its call ended. Without a reason nobody can say whether
 * the client's patience ran out: such a call counts as an error, so that no hang reads as none.
 */
export function outcomeOfCancellation(params: unknown): Outcome {
  const reason = isRecord(params) ? params['reason'] : undefined
  if (typeof reason !== 'string' || reason === '') return 'abandoned'
  return TIMED_OUT.test(reason) ? 'timeout' : 'cancelled'
}
