import { quoted } from '../base/text/foreign-text.ts'
import { isRecord } from '../base/values.ts'
import type { TemporaryRule } from '../rules/watch/temporary-rules.ts'
import type { RejectedFault, TemporaryFaults } from '../rules/watch/temporary-faults.ts'
import { type AdminResponse, apiResponse, rejection } from './admin-response.ts'
import { API, type Rule, type TemporaryList } from './contract/api.ts'
import type { ChangeParts, ChangeRequest } from './api-changes.ts'
import { routeOf, type Routes } from './routes.ts'
import { showArming, showTemporary } from './api-show.ts'

export interface FaultParts extends ChangeParts {
  readonly temporary: TemporaryFaults
}

const WHICH =
  'the body must be {"name": …} to remove one fault, or {"all": true} to remove all temporary faults'

/** Makes the route of the temporary faults. */
export function faultsRoute(parts: FaultParts): Routes[number] {
  return routeOf(API.faults, {
    read: () => apiResponse(API.faults, listTemporary(parts)),
    change: (request) => addTemporary(parts, request),
    remove: (request) => removeTemporary(parts, request),
  })
}

function listTemporary({ temporary, rules }: FaultParts): TemporaryList {
  const faults = showTemporary(rules, temporary.list())
  return { count: faults.length, faults }
}

function addTemporary(parts: FaultParts, { body, from }: ChangeRequest): AdminResponse {
  const added = parts.temporary.add(body)
  if ('rejected' in added) return notAdded(parts, added)
  return apiResponse(API.addFault, { fault: logAdded(parts, added, from) })
}

/** Logs an added fault with the address of the client that added it, and returns its JSON. */
export function logAdded(
  { rules, logger }: FaultParts,
  added: TemporaryRule,
  from: string | undefined,
): Rule {
  const fault = showTemporary(rules, [added])[0]!
  const { name, faults, until } = fault
  logger.info({ name, faults, until, from }, 'a temporary fault was added on the admin port')
  return fault
}

const REASONS = {
  invalid: 'the rule is invalid',
  conflict: 'the fault cannot be added',
  disarmed: 'rules are disarmed',
} as const

/** Returns the response to a fault that is not added. */
export function notAdded(
  { rules }: FaultParts,
  { rejected, message }: RejectedFault,
): AdminResponse {
  const reasons = rejected === 'disarmed' && { reasons: showArming(rules).reasons }
  const status = rejected === 'invalid' ? 400 : 409
  return rejection(status, { error: message, ...reasons }, {}, REASONS[rejected])
}

function removeTemporary(parts: FaultParts, { body, from }: ChangeRequest): AdminResponse {
  const { temporary, logger } = parts
  const { name, all } = isRecord(body) ? body : {}
  if (all === true && name === undefined) {
    const removed = temporary.clear()
    logger.info({ removed, from }, 'all temporary faults were removed on the admin port')
    return apiResponse(API.removeFault, { removed })
  }
  if (typeof name !== 'string' || all !== undefined) return rejection(400, { error: WHICH })
  if (!temporary.remove(name)) {
    const error = `no temporary fault named ${quoted(name)}`
    return rejection(404, { error }, {}, 'no such fault')
  }
  logger.info({ name, from }, 'a temporary fault was removed on the admin port')
  return apiResponse(API.removeFault, { removed: 1 })
}
