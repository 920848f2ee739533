import { randomBytes } from 'node:crypto'
import { isRecord, textOf } from '../../base/values.ts'
import { injectedFault } from '../../rules/import/chaos-monkey.ts'
import { MAX_LASTING_MS } from '../../rules/watch/temporary-faults.ts'
import { type AdminResponse, jsonResponse, rejection } from '../admin-response.ts'
import { bearerToken, tokenCheck } from '../admin-token.ts'
import type { ChangeRequest } from '../api-changes.ts'
import { type FaultParts, logAdded, notAdded } from '../api-faults.ts'
import { type Guard, originGuard } from '../guards.ts'
import type { Routes } from '../routes.ts'

/** Configures the API of mcp-chaos-monkey. */
export interface ChaosMonkey {
  /** The tools that targets stand for, by name or glob; any other target names its tool. */
  readonly tools: Readonly<Record<string, string>>
  /** Why no fault is ever injected; undefined where faults are. */
  readonly never: string | undefined
}

interface ChaosMonkeyContext extends FaultParts, ChaosMonkey {
  readonly token: string | undefined
}

/** A fault that was injected by this API. */
interface Injected {
  readonly id: string
  readonly target: string
  readonly type: string
}

const MAX_TARGET = 256
const NO_TOKEN = 'no admin token is set (SQUALL_ADMIN_TOKEN or --admin-token-file)'

/** Makes the paths of mcp-chaos-monkey. Their faults are temporary ones. */
export function chaosMonkeyRoutes(parts: ChaosMonkeyContext): Routes {
  const faults = new MonkeyFaults(parts)
  const guard = tokenGuard(parts.token)
  return [
    [
      '/chaos/status',
      { guard, summary: 'faults of mcp-chaos-monkey, as JSON', read: () => faults.status() },
    ],
    ['/chaos/inject', { guard, change: (request) => faults.inject(request) }],
    ['/chaos/clear', { guard, change: (request) => faults.clear(request) }],
    ['/chaos/clear-all', { guard, change: (request) => faults.clearAll(request) }],
  ]
}

/** Rejects each request without the admin token with 403, also those that only read. */
function tokenGuard(token: string | undefined): Guard {
  const isOwn = originGuard()
  const holdsToken = token === undefined ? undefined : tokenCheck(token)
  return (headers) => {
    const foreign = isOwn(headers)
    if (foreign !== undefined) return foreign
    if (holdsToken === undefined) return rejection(403, { error: NO_TOKEN })
    const { authorization } = headers
    if (holdsToken(bearerToken(authorization) ?? authorization)) return undefined
    return rejection(403, { error: 'wrong admin token' })
  }
}

class MonkeyFaults {
  readonly #parts: ChaosMonkeyContext
  /** By the index of the rule, which no later rule gets again. */
  #injected: ReadonlyMap<number, Injected> = new Map()

  constructor(parts: ChaosMonkeyContext) {
    this.#parts = parts
  }

  status(): AdminResponse {
    const { temporary, rules } = this.#parts
    const faults = temporary.list().flatMap(({ rule }) => {
      const injected = this.#injected.get(rule.index)
      const requests = rules.states.of(rule)?.sampled ?? 0
      return injected === undefined
        ? []
        : [{ ...injected, requestCount: requests, request_count: requests }]
    })
    return jsonResponse(200, { faults })
  }

  inject({ body, from }: ChangeRequest): AdminResponse {
    const { temporary, tools, never } = this.#parts
    if (never !== undefined) return rejection(403, { error: never })
    const asked = injectedFault(body, MAX_LASTING_MS)
    if ('error' in asked) return invalid(asked.error)
    const { target, type, keys } = asked
    if (target === '' || target.length > MAX_TARGET) {
      return invalid(`target must be a string of 1 to ${MAX_TARGET} characters`)
    }
    const named = Object.hasOwn(tools, target) && { match: { tool: tools[target] } }
    const added = temporary.add({ for: `${MAX_LASTING_MS}ms`, ...keys, ...named }, 'monkey')
    if ('rejected' in added) return notAdded(this.#parts, added)
    logAdded(this.#parts, added, from)
    const now = this.#parts.rules.clock()
    const id = `${target}-${Math.floor(now)}-${randomBytes(3).toString('hex')}`
    const active = new Set(temporary.list().map(({ rule: { index } }) => index))
    const kept = [...this.#injected].filter(([index]) => active.has(index))
    this.#injected = new Map([...kept, [added.rule.index, { id, target, type }]])
    return jsonResponse(200, idIn(spellingOf(body), id))
  }

  clear({ body, from }: ChangeRequest): AdminResponse {
    const { temporary, logger } = this.#parts
    const { faultId, fault_id: snakeId } = isRecord(body) ? body : {}
    const id = textOf(faultId) ?? textOf(snakeId)
    if (id === undefined) return invalid('faultId is missing')
    const removed = temporary.clear(({ index }) => this.#injected.get(index)?.id === id)
    logger.info({ removed, from }, 'a temporary fault was removed on the admin port')
    return jsonResponse(200, { cleared: id })
  }

  /** Removes the faults that this API injected, and no others. */
  clearAll({ from }: ChangeRequest): AdminResponse {
    const { temporary, logger } = this.#parts
    const removed = temporary.clear(({ index }) => this.#injected.has(index))
    logger.info({ removed, from }, 'all faults of mcp-chaos-monkey were removed')
    return jsonResponse(200, { cleared: 'all' })
  }
}

type Spelling = 'camelCase' | 'snake_case' | undefined

/** Returns the spelling of the keys of a request; undefined where they show none, or both. */
function spellingOf(body: unknown): Spelling {
  const { config } = isRecord(body) ? body : {}
  const keys = [body, config].flatMap((each) => (isRecord(each) ? Object.keys(each) : []))
  const isSnake = keys.some((key) => /_[a-z]/.test(key))
  const isCamel = keys.some((key) => /[A-Z]/.test(key))
  if (isSnake === isCamel) return undefined
  return isSnake ? 'snake_case' : 'camelCase'
}

function idIn(spelling: Spelling, id: string): object {
  return {
    ...(spelling !== 'snake_case' && { faultId: id }),
    ...(spelling !== 'camelCase' && { fault_id: id }),
  }
}

function invalid(error: string): AdminResponse {
  return rejection(400, { error }, {}, 'the request is invalid')
}
