import {
  type HeaderLines,
  type RequestHead,
  type ResponseHead,
  headerValue,
  linesWithout,
} from '../../../http/headers.ts'
import { FastResponseHead, type ResponseHeadCache } from '../../../http/fast/fast-response-head.ts'
import { responseFactsOf } from '../../../http/response-facts.ts'
import { headersForChangedBody } from '../../../http/changed-body-headers.ts'
import { STATUS_CODES } from 'node:http'
import { type Call, sharesStream } from '../../../mcp/call.ts'
import {
  type ErrorReply,
  type Reply,
  acceptsSse,
  asJson,
  asSseEvent,
  errorReply,
  toolErrorReply,
  wantsSse,
} from '../../../mcp/reply.ts'
import { NO_FIELDS, parseSseFields } from '../../../mcp/sse-fields.ts'
import type { InjectedReply } from '../../../filters/fault.ts'
import type { WholeResponse } from '../../rejection.ts'
import type { FaultOrigin } from '../exchange-context.ts'

/** The header that names the rules and faults that acted on a response. */
export const FAULT_HEADER = 'x-squall-fault'

const MAX_TOKEN = 100

/** Returns the marker of a fault: `rule/fault`, in characters that headers and comments allow. */
export function faultMarker(rule: string, fault: string): string {
  return `${token(rule)}/${token(fault)}`
}

/** Adds a header for each marker. */
export function withMarkers(head: ResponseHead, markers: readonly string[]): ResponseHead {
  if (markers.length === 0) return head
  const headers = [...head.headers]
  for (const marker of markers) headers.push(FAULT_HEADER, marker)
  return changedHead(head, markers.join(' '), headers)
}

function changedHead(head: ResponseHead, by: string, headers: HeaderLines, length?: number) {
  return head instanceof FastResponseHead ? head.changed(by, headers, length) : { ...head, headers }
}

/** Encodes markers as comments in front of an event. */
export function markerComments(markers: readonly string[]): Buffer {
  return Buffer.from(markers.map((marker) => `: ${FAULT_HEADER} ${marker}\n\n`).join(''), 'latin1')
}

function token(name: string): string {
  const safe = name.slice(0, MAX_TOKEN).replace(/[^A-Za-z0-9._~-]/g, '_')
  return safe === '' ? '_' : safe
}

/** A reply as an HTTP status. */
export type HttpReply = Extract<InjectedReply, { readonly kind: 'http' }>

/** A reply as a JSON-RPC message. */
export type RpcReply = Exclude<InjectedReply, { readonly kind: 'http' }>

const EXPOSED = 'mcp-session-id, retry-after, www-authenticate'

/** Creates the message with which a fault replies to a call. */
export function replyMessage(reply: RpcReply, call: Call): Reply {
  if (reply.kind === 'toolError') return toolErrorReply(call, reply.text)
  const { code, message, data } = reply
  return errorReply({ id: call.id ?? null, code, message, data })
}

/** Encodes a reply as an event with the id, and the retry field, of the event that it replaces. */
export function replyEvent(reply: Reply, replaced: ReplacedEvent, keepsRetry = false): Uint8Array {
  const { eventId, raw } = replaced
  const { retry } = keepsRetry ? parseSseFields(Buffer.from(raw), false) : NO_FIELDS
  const id = eventId === undefined ? '' : `id: ${eventId}\n`
  const lines = retry === undefined ? id : `${id}retry: ${retry}\n`
  const event = asSseEvent(reply).bytes
  return lines === '' ? event : Buffer.concat([Buffer.from(lines), event])
}

interface ReplacedEvent {
  readonly raw: Uint8Array
  readonly eventId?: string | undefined
}

/**
 * Creates an HTTP response; `marked` is true when a marker is sent with it. `upstreamLines` are the
 * headers of the upstream's response, if any, whose CORS headers are kept.
 */
export function httpResponse(
  reply: HttpReply,
  request: RequestHead,
  marked: boolean,
  upstreamLines?: HeaderLines,
): WholeResponse {
  const { status } = reply
  const reason = STATUS_CODES[status] ?? ''
  const own = Object.entries(reply.headers).flat()
  const names = new Set(Object.keys(reply.headers).map((name) => name.toLowerCase()))
  const bodyless = status === 204 || status === 304
  const bytes = Buffer.from(bodyless ? '' : (reply.body ?? `${status} ${reason}`.trimEnd() + '\n'))
  const lines = [...own]
  if (!bodyless) {
    if (!names.has('content-type')) lines.push('Content-Type', 'text/plain; charset=utf-8')
    lines.push('Content-Length', String(bytes.byteLength))
  }
  if (!names.has('cache-control')) lines.push('Cache-Control', 'no-store')
  const kept =
    upstreamLines === undefined
      ? corsLines(request, marked)
      : linesWithout(
          upstreamLines,
          (name) => !name.startsWith('access-control-') && name !== 'vary',
        )
  const headers = [...lines, ...linesWithout(kept, (name) => names.has(name))]
  return { head: { status, reason, headers }, bytes: hasNoBody(request, status) ? NOTHING : bytes }
}

/** Creates a response with messages, in the framing that the client accepts. */
export function messageResponse(
  replies: readonly Reply[],
  batch: boolean,
  request: RequestHead,
  marked: boolean,
): WholeResponse {
  const sse = wantsSse(request)
  const bytes = sse
    ? Buffer.concat(replies.map((reply) => asSseEvent(reply).bytes))
    : asJson(batch ? replies : replies[0]!).bytes
  const headers = [
    'Content-Type',
    sse ? 'text/event-stream' : 'application/json',
    'Content-Length',
    String(bytes.byteLength),
    'Cache-Control',
    sse ? 'no-cache' : 'no-store',
    ...corsLines(request, marked),
  ]
  // Without CORS headers, heads differ only in the length.
  const cache = headers.length > 6 ? undefined : HEADS[sse ? 'sse' : 'json']
  return { head: new FastResponseHead(200, 'OK', headers, bytes.byteLength, cache), bytes }
}

const HEADS: Readonly<Record<'json' | 'sse', ResponseHeadCache>> = {
  json: { facts: undefined, text: undefined },
  sse: { facts: undefined, text: undefined },
}

/**
 * Creates the response to a POST without messages to send or to respond with. Without calls it is
 * 202. On HTTP+SSE the response to the call comes on the stream. Otherwise the client has cancelled the call: no message
 * may respond to it, and HTTP expresses that by a stream without one.
 */
export function emptyResponse(
  call: Call | undefined,
  request: RequestHead,
  marked: boolean,
): WholeResponse {
  const isAccepted = call === undefined || sharesStream(call.transport) || !acceptsSse(request)
  const text = call !== undefined && isAccepted ? 'Accepted' : ''
  const type = isAccepted ? 'text/plain' : 'text/event-stream'
  const headers = call === undefined ? [] : ['Content-Type', type]
  headers.push('Content-Length', String(text.length))
  if (!isAccepted) headers.push('Cache-Control', 'no-cache')
  headers.push(...corsLines(request, marked))
  const line = isAccepted ? { status: 202, reason: 'Accepted' } : { status: 200, reason: 'OK' }
  return { head: { ...line, headers }, bytes: Buffer.from(text) }
}

/**
 * Creates the response with another body than the upstream's. Replies of faults need a head that
 * allows a body of messages.
 */
export function changedResponse(
  head: ResponseHead,
  bytes: Uint8Array,
  areReplies: boolean,
  request: RequestHead,
): WholeResponse {
  const { status } = head
  const headers = headersForChangedBody(head.headers, bytes.length)
  if (areReplies && (status >= 300 || status === 202 || status === 204 || isStream(head))) {
    const others = linesWithout(headers, (name) => name === 'content-type')
    const lines = [...others, 'Content-Type', 'application/json']
    return { head: { status: 200, reason: 'OK', headers: lines }, bytes }
  }
  const changed = changedHead(head, 'body', headers, bytes.length)
  return { head: changed, bytes: hasNoBody(request, status) ? NOTHING : bytes }
}

/** The error of the official SDKs' servers for an unknown session. */
const SESSION_NOT_FOUND = { code: -32001, message: 'Session not found' } as const

/** Creates the response to a request of a session that a fault has ended. */
export function expiredResponse(
  request: RequestHead,
  calls: readonly Call[],
  { ref, marked }: FaultOrigin,
): WholeResponse {
  const id = calls.length === 1 ? (calls[0]!.id ?? null) : null
  return errorResponse(request, 404, { id, ...SESSION_NOT_FOUND }, { ref, marked })
}

const UNREAD = {
  id: null,
  code: -32603,
  message:
    'Squall blocked this request: it could not be parsed, and may use a value that Squall falsified in an earlier result',
} as const

/** Creates the response to a request that was not read while false values are out. */
export function unreadResponse(request: RequestHead, by: FaultOrigin): WholeResponse {
  return errorResponse(request, 503, UNREAD, by)
}

function errorResponse(
  request: RequestHead,
  status: number,
  error: ErrorReply,
  { ref, marked }: Pick<FaultOrigin, 'ref' | 'marked'>,
): WholeResponse {
  const body = asJson(errorReply(error))
  const { head, bytes } = httpResponse(
    {
      kind: 'http',
      status,
      body: Buffer.from(body.bytes).toString(),
      headers: { 'Content-Type': body.contentType },
    },
    request,
    marked,
  )
  const markers = marked ? [faultMarker(ref.rule, ref.fault)] : []
  return { head: withMarkers(head, markers), bytes }
}

/** Returns true for an event stream. */
export function isStream(head: ResponseHead): boolean {
  return head.status < 300 && responseFactsOf(head).streams
}

/** Returns true for a response without a body. */
export function hasNoBody(request: RequestHead, status: number): boolean {
  return request.method === 'HEAD' || status === 204 || status === 304
}

/** An empty body. */
export const NOTHING = new Uint8Array(0)

/**
 * Returns the CORS headers that let a browser's page read the response, because the upstream was
 * not asked.
 */
function corsLines(request: RequestHead, marked: boolean): string[] {
  const origin = headerValue(request.headers, 'origin')
  if (origin === undefined) return []
  const lines = ['Access-Control-Allow-Origin', origin, 'Vary', 'Origin']
  // Without a marker the headers must not reveal the fault either.
  lines.push('Access-Control-Expose-Headers', marked ? `${EXPOSED}, ${FAULT_HEADER}` : EXPOSED)
  if (headerValue(request.headers, 'cookie') !== undefined) {
    lines.push('Access-Control-Allow-Credentials', 'true')
  }
  return lines
}
