import type { Static } from 'typebox'
import { makeCheck } from '#checks/change'
import { plain } from '../base/text/foreign-text.ts'
import type { DisarmedBy } from '../rules/guard/arming.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { Logger } from '../telemetry/log.ts'
import { type AdminResponse, apiResponse, rejection } from './admin-response.ts'
import { API } from './contract/api.ts'
import type { SCHEMAS } from './contract/api-schemas.ts'
import { showArming } from './api-show.ts'

export interface ChangeParts {
  readonly rules: ActiveRules
  readonly logger: Logger
}

/** A requested change: the body as JSON, and the address of the client. */
export interface ChangeRequest {
  readonly body: unknown
  readonly from: string | undefined
}

const fits = makeCheck(() => ({}))
const WRONG_BODY = 'the body may have only the key `reason`, a string of 1 to 200 characters'
const NO_REASON = 'disarmed by an operator'
/** The reasons that an operator may lift. */
const LIFTED = ['operator', 'guard', 'rollback-on'] as const satisfies readonly DisarmedBy[]

/** Disarms: no rule acts until an operator arms again. */
export function disarm(
  { rules, logger }: ChangeParts,
  { body, from }: ChangeRequest,
): AdminResponse {
  const read = readReason(body)
  if ('error' in read) return rejection(400, read)
  const changed = !rules.arming.reasons.some(({ by }) => by === 'operator')
  const reason = read.reason ?? NO_REASON
  rules.arming.disarm('operator', reason)
  logger.info({ reason, changed, from }, 'disarmed on the admin port')
  return apiResponse(API.disarm, { ...showArming(rules), changed })
}

/**
 * Lifts what an operator, the guard or a condition of `--rollback-on` disarmed; changes nothing
 * where other reasons remain.
 */
export function arm({ rules, logger }: ChangeParts, { body, from }: ChangeRequest): AdminResponse {
  const read = readReason(body)
  if ('error' in read) return rejection(400, read)
  const kept = showArming(rules).reasons.filter(({ by }) => !LIFTED.some((each) => each === by))
  if (kept.length > 0) {
    return rejection(409, {
      error: 'still disarmed for reasons that the admin port cannot clear; nothing was changed',
      reasons: kept,
    })
  }
  const lifted = LIFTED.filter((by) => rules.arming.lift(by))
  logger.info({ reason: read.reason, lifted, from }, 'armed on the admin port')
  return apiResponse(API.arm, { ...showArming(rules), changed: lifted.length > 0 })
}

function readReason(
  body: unknown,
): { readonly reason: string | undefined } | { readonly error: string } {
  if (body === undefined) return { reason: undefined }
  if (!fits(body)) return { error: WRONG_BODY }
  const { reason } = body as Static<typeof SCHEMAS.change>
  return { reason: reason === undefined ? undefined : plain(reason.trim()) }
}
