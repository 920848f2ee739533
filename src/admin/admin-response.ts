import type { Endpoint, ResponseOf } from './api.ts'

/** What a request to the admin port is answered with. */
export interface AdminAnswer {
  readonly status: number
  readonly type: string
  /** What is long is sent in the pieces in which it was made. */
  readonly body: string | readonly Uint8Array[]
  readonly headers?: Readonly<Record<string, string>>
  /** Told when all of the body was sent, and needed no more. */
  readonly sent?: (() => void) | undefined
  /** Why a change was not made, for the log: of a fixed list of texts. */
  readonly refused?: string
}

/** A success of an endpoint. */
export function apiAnswer<E extends Endpoint>(_: E, value: ResponseOf<E>): AdminAnswer {
  return jsonAnswer(200, value)
}

/** A JSON answer on one line. */
export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): AdminAnswer {
  return { status, type: 'application/json', body: `${JSON.stringify(value)}\n`, headers }
}
