import { STATUS_CODES } from 'node:http'
import type { Call } from '../mcp/call.ts'
import type { ResponseHead } from '../http/headers.ts'
import { asJson, errorReply } from '../mcp/reply.ts'
import type { RejectionReason } from '../telemetry/telemetry.ts'
import type { Failure } from '../http/transfer.ts'

/** The JSON-RPC error code of Squall's own errors. */
const SQUALL_ERROR = -32603

/**
 * The header of Squall's own error responses, which come neither from the upstream nor from a
 * fault.
 */
export const ERROR_HEADER = 'x-squall-error'

/** Explains calls that Squall itself ended, without a response of its own. */
export const NOT_READ = { message: 'the client does not read its response' }
export const UNREADABLE = { message: 'the response could not be parsed' }

/** Describes an error response of Squall. */
export interface Rejection {
  readonly status: number
  readonly reason: RejectionReason
  readonly message: string
}

/** A response in one piece. */
export interface WholeResponse {
  readonly head: ResponseHead
  readonly bytes: Uint8Array
}

/** Returns the response to a rejected request: JSON-RPC errors for calls, or else plain JSON. */
export function rejectionResponse(
  rejection: Rejection,
  calls: readonly Call[],
  batch: boolean,
): WholeResponse {
  const bytes = rejectionBody(rejection, calls, batch)
  const head: ResponseHead = {
    status: rejection.status,
    reason: STATUS_CODES[rejection.status] ?? '',
    headers: [
      'Content-Type',
      'application/json',
      'Content-Length',
      String(bytes.byteLength),
      'Cache-Control',
      'no-store',
      ERROR_HEADER,
      rejection.reason,
    ],
  }
  return { head, bytes }
}

/** Encodes the body of an error response of Squall. */
export function rejectionBody(
  rejection: Rejection,
  calls: readonly Call[],
  batch: boolean,
): Uint8Array {
  const { reason } = rejection
  const message = `squall: ${rejection.message}`
  if (calls.length === 0) {
    return Buffer.from(`${JSON.stringify({ error: { origin: 'squall', reason, message } })}\n`)
  }
  const data = { origin: 'squall', reason }
  const replies = calls.map(({ id = null }) =>
    errorReply({ id, code: SQUALL_ERROR, message, data }),
  )
  return asJson(batch ? replies : replies[0]!).bytes
}

const UNREACHABLE: Omit<Rejection, 'message'> = { reason: 'upstream_unreachable', status: 502 }

const KINDS: Readonly<Record<Failure['kind'], Omit<Rejection, 'message'>>> = {
  connect: UNREACHABLE,
  overload: { reason: 'overload', status: 503 },
  protocol: { reason: 'upstream_protocol', status: 502 },
  internal: { reason: 'internal_error', status: 500 },
  reset: UNREACHABLE,
  closed: UNREACHABLE,
}

const TEXTS: Readonly<Partial<Record<RejectionReason, string>>> = {
  upstream_unreachable: 'the upstream cannot be reached',
  upstream_protocol: 'the upstream sent an invalid HTTP response',
}

/** Returns the failure of a transfer that an error inside Squall ended. */
export function internalFailure(error: unknown): Failure {
  return { kind: 'internal', message: 'internal error', error }
}

/**
 * Maps a failed transfer to an error response. Resets and closes without a response are passed on
 * as such.
 */
export function rejectionOf({ kind, message }: Failure): Rejection {
  const { reason, status } = KINDS[kind]
  const text = TEXTS[reason]
  return { reason, status, message: text === undefined ? message : `${text}: ${message}` }
}
