import type { Endpoint, ResponseOf } from './api.ts'

/** The response to a request to the admin port. */
export interface AdminResponse {
  readonly status: number
  readonly type: string
  /** A long body is sent in the pieces in which it was rendered. */
  readonly body: string | readonly Uint8Array[]
  readonly headers?: Readonly<Record<string, string>>
  /** Called when the whole body was sent and is no longer needed. */
  readonly sent?: (() => void) | undefined
  /** Why a change was not made, for the log: of a fixed list of texts. */
  readonly refused?: string
}

/** A success of an endpoint. */
export function apiResponse<E extends Endpoint>(_: E, value: ResponseOf<E>): AdminResponse {
  return jsonResponse(200, value)
}

/** A JSON response on one line. */
export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): AdminResponse {
  return { status, type: 'application/json', body: `${JSON.stringify(value)}\n`, headers }
}
