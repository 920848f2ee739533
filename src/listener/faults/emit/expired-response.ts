import type { Call } from '../../../mcp/call.ts'
import type { RequestHead } from '../../../http/headers.ts'
import { asJson, errorReply } from '../../../mcp/reply.ts'
import { faultMark, withMarks } from './fault-marker.ts'
import { httpResponse, type InjectedResponse } from './injected-response.ts'
import type { Behalf } from '../chain/turn-setting.ts'

/** What servers of the official SDKs say of a session that they do not know. */
const SESSION_NOT_FOUND = { code: -32001, message: 'Session not found' } as const

/** The response to whoever names a session that a fault has ended. */
export function expiredResponse(
  request: RequestHead,
  calls: readonly Call[],
  { place, marked }: Behalf,
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
  const markers = marked ? [faultMark(place.rule, place.fault)] : []
  return { head: { ...head, headers: withMarks(head.headers, markers) }, bytes }
}
