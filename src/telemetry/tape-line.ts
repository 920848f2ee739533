import type { FailureKind } from '../http/transfer.ts'
import type { JsonRpcId } from '../mcp/call.ts'
import { parseMessages } from '../mcp/json-rpc.ts'
import { type Redaction, redactMessage, redactText } from './redact.ts'

export const TAPE_VERSION = 1
/** The longest text of a response that is not JSON-RPC. */
const MAX_BODY_TEXT = 64 * 1024

/** The first line of a tape. */
export interface TapeHeader {
  readonly tape: typeof TAPE_VERSION
  /** The version of the program that recorded it. */
  readonly squall: string
  /** ISO 8601. */
  readonly recordedAt: string
  readonly note: string
  readonly secrets: 'redacted' | 'kept'
  /** JSON Pointers to additional redacted values; `*` is any key or index. */
  readonly redact?: readonly string[]
}

/** Every other line: a message, or the end of an exchange without one. */
export interface TapeLine {
  /** Milliseconds since the recording began. */
  readonly at: number
  readonly exchange: number
  /** The start of a hash of the session; missing without a session. */
  readonly session?: string | undefined
  /** The protocol version in the header of a request. */
  readonly protocolVersion?: string | undefined
  readonly from: 'client' | 'server'
  /** Missing for requests: as a whole response, as an event of it, or on a stream of its own. */
  readonly via?: 'json' | 'sse' | 'stream' | undefined
  readonly id?: JsonRpcId | undefined
  readonly method?: string | undefined
  readonly params?: unknown
  /** The status of an error, or of a response without a message. */
  readonly status?: number | undefined
  readonly retryAfter?: string | undefined
  /** The text of a response that is not JSON-RPC. */
  readonly body?: string | undefined
  /** The failure in place of the rest of a response. */
  readonly failed?: FailureKind | undefined
  /** The reason for which a message is not on the tape, and its size. */
  readonly omitted?: 'too_large' | 'unreadable' | undefined
  readonly bytes?: number | undefined
  readonly error?: unknown
  /** The last member, so that a large one need not be parsed. */
  readonly result?: unknown
}

/** A line before its messages are read. */
export interface TapeJob {
  readonly line: TapeLine
  readonly text: string | undefined
  readonly redaction: Redaction
}

/** Returns the lines for the messages in a text; nothing for what is not JSON-RPC. */
export function tapeLines({ line, text, redaction }: TapeJob): string {
  if (text === undefined) return `${JSON.stringify(line)}\n`
  const parsed = parseMessages(text)
  if (!parsed.ok) {
    if (line.from === 'client' && parsed.reason !== 'too_complex') return ''
    const body = redaction.keepSecrets ? text : redactText(text.slice(0, MAX_BODY_TEXT))
    const rest = line.status === undefined ? { omitted: 'unreadable' as const } : { body }
    return `${JSON.stringify({ ...line, ...rest })}\n`
  }
  const all = (Array.isArray(parsed.value) ? parsed.value : [parsed.value]) as object[]
  return all.map((each) => messageLine(line, redactMessage({ ...each }, redaction))).join('')
}

function messageLine(line: TapeLine, message: Readonly<Record<string, unknown>>): string {
  const { id, method, params, error, result } = message
  return `${JSON.stringify({ ...line, id, method, params, error, result })}\n`
}
