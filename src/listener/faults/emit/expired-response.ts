import type { Call } from '../../../mcp/call.ts'
import type { RequestHead } from '../../../http/headers.ts'
import { asJson, errorReply } from '../../../mcp/reply.ts'
import { faultMarker, withMarkers } from './fault-marker.ts'
import { httpResponse, type InjectedResponse } from './injected-response.ts'
import type { FaultOrigin } from '../chain/exchange-context.ts'

/** The error of the official SDKs' servers for an unknown session. */
const SESSION_NOT_FOUND = { code: -32001, message: 'Session not found' } as const

/** Creates the response to a request of a session that a fault has ended. */
export function expiredResponse(
  request: RequestHead,
  calls: readonly Call[],
  { ref, marked }: FaultOrigin,
): InjectedResponse {
  const id = calls.length === 1 ? calls[0]!.id : null
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
