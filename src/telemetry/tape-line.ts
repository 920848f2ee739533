import type { FailureKind } from '../http/transfer.ts'
import type { JsonRpcId } from '../mcp/call.ts'

export const TAPE_VERSION = 1
export const TAPE_NOTE =
  'arguments and results are kept in clear; values that look like secrets are replaced by [redacted], unless secrets are kept'

/** The first line of a tape. */
export interface TapeHeader {
  readonly tape: typeof TAPE_VERSION
  /** The version of the program that recorded it. */
  readonly squall: string
  /** ISO 8601. */
  readonly recordedAt: string
  readonly note: string
  readonly secrets: 'redacted' | 'kept'
  /** JSON Pointers to further values that are replaced; `*` is any key or index. */
  readonly redact?: readonly string[]
}

/** Every other line: a message, or an end of an exchange without one. */
export interface TapeLine {
  /** Milliseconds since the recording began. */
  readonly at: number
  /** Numbers the HTTP exchange, or the line of a server that speaks stdio. */
  readonly exchange: number
  /** The start of a hash of the session; missing without a session. */
  readonly session?: string
  /** The protocol version that the header of a request names. */
  readonly protocolVersion?: string
  readonly from: 'client' | 'server'
  /** Missing for requests: as a whole response, as an event of it, or on a stream of its own. */
  readonly via?: 'json' | 'sse' | 'stream'
  readonly id?: JsonRpcId
  readonly method?: string
  readonly params?: unknown
  /** The status of a response with an error, or without a message. */
  readonly status?: number
  readonly retryAfter?: string
  /** The text of a response that is not JSON-RPC. */
  readonly body?: string
  /** The failure in place of the rest of a response. */
  readonly failed?: FailureKind
  /** The reason for which a message is not in the tape, and its size. */
  readonly omitted?: 'too_large' | 'unreadable'
  readonly bytes?: number
  readonly error?: unknown
  /** The last member, so that a large one need not be parsed. */
  readonly result?: unknown
}
