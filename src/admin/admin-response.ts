import type { Endpoint, Failure, ResponseOf } from './contract/api.ts'

export interface AdminResponse {
  readonly status: number
  readonly type: string
  /** A long body is sent in the pieces in which it was rendered. */
  readonly body: string | readonly Uint8Array[]
  readonly headers?: Readonly<Record<string, string>>
  /** Called when the whole body was sent and is no longer needed. */
  readonly sent?: (() => void) | undefined
  /**
   * The reason of a rejection, for the log: one of a fixed list of texts, nothing that was sent.
   */
  readonly rejected?: string
}

/** Makes the success of an endpoint. */
export function apiResponse<E extends Endpoint>(_: E, value: ResponseOf<E>): AdminResponse {
  return jsonResponse(200, value)
}

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): AdminResponse {
  return { status, type: 'application/json', body: `${JSON.stringify(value)}\n`, headers }
}

/** Makes a response that is logged as a rejection, with a fixed text as its reason. */
export function rejection(
  status: number,
  value: Failure,
  headers?: Readonly<Record<string, string>>,
  reason = value.error,
): AdminResponse {
  return { ...jsonResponse(status, value, headers), rejected: reason }
}
