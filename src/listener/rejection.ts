import type { Call } from '../mcp/call.ts'
import type { ResponseHead } from '../http/headers.ts'
import { asJson, errorReply } from '../mcp/reply.ts'
import type { RejectionReason } from '../telemetry/telemetry.ts'
import type { ClientResponse } from './exchange.ts'

/** JSON-RPC code of an error that was made on the way and not by the app. */
const SQUALL_ERROR = -32603

/** Marks a response that Squall itself had to give: neither the app's nor a fault. */
export const ERROR_HEADER = 'x-squall-error'

/** Why an exchange is answered by Squall. */
export interface Refusal {
  readonly status: number
  readonly reason: RejectionReason
  readonly message: string
}

/** Answers in the app's stead: JSON-RPC shaped for calls, plain JSON for anything else. */
export function refuse(
  response: ClientResponse,
  refusal: Refusal,
  calls: readonly Call[],
  batch: boolean,
): void {
  const bytes = refusalBody(refusal, calls, batch)
  const head: ResponseHead = {
    status: refusal.status,
    reason: REASONS[refusal.status] ?? '',
    headers: [
      'Content-Type',
      'application/json',
      'Content-Length',
      String(bytes.byteLength),
      'Cache-Control',
      'no-store',
      ERROR_HEADER,
      refusal.reason,
    ],
  }
  response.head(head)
  response.data(bytes)
  response.end([])
}

/** The body of a response that Squall gives. */
export function refusalBody(refusal: Refusal, calls: readonly Call[], batch: boolean): Uint8Array {
  const { reason } = refusal
  const message = `squall: ${refusal.message}`
  if (calls.length === 0) {
    return Buffer.from(`${JSON.stringify({ error: { origin: 'squall', reason, message } })}\n`)
  }
  const data = { origin: 'squall', reason }
  const replies = calls.map(({ id }) => errorReply({ id, code: SQUALL_ERROR, message, data }))
  return asJson(batch ? replies : replies[0]!).bytes
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
}
