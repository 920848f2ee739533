import { LruMap } from '../../base/lru-map.ts'
import type { FaultOrigin } from './exchange-faults-options.ts'
import type { Call } from '../../mcp/call.ts'
import type { RequestHead } from '../../http/headers.ts'
import { asJson, errorReply } from '../../mcp/reply.ts'
import {
  type InjectedResponse,
  faultMarker,
  httpResponse,
  withMarkers,
} from './emit/injected-response.ts'

/**
 * Holds the sessions that a fault has ended: the app still knows them, but their requests are
 * rejected.
 */
export class ExpiredSessions {
  readonly #sessions: LruMap<FaultOrigin>

  constructor(limit: number) {
    this.#sessions = new LruMap(limit)
  }

  /** Ends a session while the rule stays active. */
  add(session: string, by: FaultOrigin): void {
    this.#sessions.set(session, by)
  }

  /** Returns the fault that ended a session, if any. */
  of(session: string): FaultOrigin | undefined {
    if (session === '' || this.#sessions.size === 0) return undefined
    const by = this.#sessions.get(session)
    if (by?.retired.aborted !== true) return by
    this.#sessions.delete(session)
    return undefined
  }
}

/** The error of the official SDKs' servers for an unknown session. */
const SESSION_NOT_FOUND = { code: -32001, message: 'Session not found' } as const

/** Creates the response to a request of a session that a fault has ended. */
export function expiredResponse(
  request: RequestHead,
  calls: readonly Call[],
  { ref, marked }: FaultOrigin,
): InjectedResponse {
  const id = calls.length === 1 ? (calls[0]!.id ?? null) : null
  const body = asJson(errorReply({ id, ...SESSION_NOT_FOUND }))
  const { head, bytes } = httpResponse(
    {
      kind: 'http',
      status: 404,
      body: Buffer.from(body.bytes).toString(),
      headers: { 'Content-Type': body.contentType },
    },
    request,
    marked,
  )
  const markers = marked ? [faultMarker(ref.rule, ref.fault)] : []
  return { head: { ...head, headers: withMarkers(head.headers, markers) }, bytes }
}
