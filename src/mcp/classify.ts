import { type Fields, fieldsOf, isRecord } from '../base/values.ts'
import { CLIENT_METHODS, KNOWN_METHODS, SERVER_METHODS } from './known-methods.ts'
import { asBuffer, inOnePiece, strictText } from '../base/bytes.ts'
import { readingCost, SMALL_JSON } from '../base/json/json-bounds.ts'
import { parsePlain } from '../base/json/json-scan.ts'
import { parseTraceparent } from '../http/traceparent.ts'
import type { Call, ClientInfo, RequestCall, Transport } from './call.ts'
import {
  findBodyAmbiguity,
  findKeyAmbiguity,
  nameKey,
  type BodyAmbiguity,
} from './body-ambiguity.ts'
import { deferArguments } from './deferred-arguments.ts'
import type { HeadFacts } from './request-facts.ts'
import {
  type BodyProblem,
  type Message,
  type ParsedBody,
  parseMessages,
  readMessages,
} from './json-rpc.ts'

/**
 * A notification or response from the client. The method of its request is not known here.
 */
export interface OtherMessage extends Call {
  readonly kind: 'notification' | 'response'
  /** The number of calls before the message in the same body. */
  readonly callsBefore: number
}

/** A POST body read as JSON-RPC. */
export interface PostedMessages {
  readonly kind: 'messages'
  readonly batch: boolean
  readonly calls: readonly RequestCall[]
  /** The messages other than calls. */
  readonly others: readonly OtherMessage[]
  /** The version that the first call states, else that of the header. */
  readonly protocolVersion: string | undefined
  /** The session header's value. */
  readonly session: string | undefined
  readonly client: ClientInfo | undefined
}

/** A POST body, read or not. */
export type PostClass =
  PostedMessages | { readonly kind: 'unclassified'; readonly reason: BodyProblem | BodyAmbiguity }

const META = 'io.modelcontextprotocol/'
const META_PROTOCOL_VERSION = `${META}protocolVersion`
const META_CLIENT = `${META}clientInfo`
const MAX_PROTOCOL_VERSION = 64
const MAX_CLIENT_TEXT = 256

/** The facts of a head that reading its body needs. */
export type BodyFacts = Pick<HeadFacts, 'session' | 'protocolVersion' | 'mcpMethod' | 'mcpName'>

/**
 * Reads a POST body. A body that a server might read differently is left unread, so that no call is
 * mistaken for another.
 */
export function classifyBody(head: BodyFacts, bytes: Uint8Array, transport: Transport): PostClass {
  const parsed = outlineOfBody(bytes) ?? parseBody(bytes)
  if (typeof parsed === 'string') return unclassified(parsed)
  if (!parsed.ok) return unclassified(parsed.reason)
  const ambiguity = findBodyAmbiguity(parsed.value, head)
  if (ambiguity !== undefined) return unclassified(ambiguity)
  const { session } = head
  const stated = boundedProtocolVersion(head.protocolVersion)
  const calls: RequestCall[] = []
  const others: OtherMessage[] = []
  let client: ClientInfo | undefined
  for (const message of parsed.messages) {
    if (message.kind === 'request') {
      const { id, method, params } = message
      const fields = fieldsOf(params)
      const meta = fieldsOf(fields['_meta'])
      const isInitialize = method === 'initialize'
      const protocolVersion =
        boundedProtocolVersion(meta[META_PROTOCOL_VERSION]) ??
        (isInitialize ? boundedProtocolVersion(fields['protocolVersion']) : undefined) ??
        stated
      const token = meta['progressToken']
      const progressToken =
        typeof token === 'string' || typeof token === 'number' ? token : undefined
      const name = nameOf(method, fields)
      const trace = traceOf(meta)
      calls.push({ id, method, name, params, transport, protocolVersion, progressToken, trace })
      client ??= clientInfo(meta[META_CLIENT])
      if (isInitialize) client ??= clientInfo(fields['clientInfo'])
    } else others.push(otherMessage(message, stated, calls.length, transport))
  }
  const protocolVersion = calls.length > 0 ? calls[0]!.protocolVersion : stated
  return {
    kind: 'messages',
    batch: parsed.batch,
    calls,
    others,
    protocolVersion,
    session,
    client,
  }
}

function otherMessage(
  message: Exclude<Message, { kind: 'request' }>,
  protocolVersion: string | undefined,
  callsBefore: number,
  transport: Transport,
): OtherMessage {
  const isResponse = message.kind !== 'notification'
  return {
    kind: isResponse ? 'response' : 'notification',
    id: isResponse ? (message.id ?? undefined) : undefined,
    method: isResponse ? '' : message.method,
    name: undefined,
    params: isResponse ? undefined : message.params,
    transport,
    protocolVersion,
    progressToken: undefined,
    trace: isResponse ? undefined : traceOf(fieldsOf(fieldsOf(message.params)['_meta'])),
    callsBefore,
  }
}

/**
 * Reads a large body without its arguments, which are parsed when they are read. Returns undefined
 * for a text that a parser should read: a small, damaged or unusual one.
 */
export function outlineOfBody(bytes: Uint8Array): ParsedBody | undefined {
  const plain = parsePlain(bytes, 'params.arguments', SMALL_JSON)
  if (plain === undefined) return undefined
  const { value, omitted: text, pieces } = plain
  const { params } = value
  if (text !== undefined && isRecord(params)) {
    deferArguments(params, { text, weight: readingCost(bytes.length, pieces) })
  }
  return readMessages(value)
}

/** Reads a body by the parser. */
export function parseBody(bytes: Uint8Array): ParsedBody | BodyAmbiguity {
  const text = asBuffer(bytes).toString()
  const parsed = parseMessages(text)
  if (!parsed.ok) return parsed
  // The client may have sent the replacement character itself.
  if (text.includes('\ufffd') && strictText(bytes) === undefined) return 'not_utf8'
  return findKeyAmbiguity(text, parsed.value) ?? parsed
}

/** The requests that servers send to clients. */
export const SERVER_REQUESTS: readonly string[] = [
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
]

/** The methods of all messages that MCP knows. */
export const ALL_METHODS: ReadonlySet<string> = new Set([
  ...KNOWN_METHODS,
  ...CLIENT_METHODS,
  ...SERVER_METHODS,
  ...SERVER_REQUESTS,
  'notifications/cancelled',
  'notifications/progress',
])

/** Returns true for methods that a rule must name explicitly: sessions depend on them. */
export function isHandshake(method: string): boolean {
  return method === 'initialize' || method === 'server/discover' || method === 'ping'
}

/** Returns true for methods of messages from the client other than calls. */
export function isOfOther(method: string): boolean {
  return method.startsWith('notifications/') || SERVER_REQUESTS.includes(method)
}

/**
 * Returns the tool, prompt, resource or task of a call, from the parameter that its method uses.
 */
function nameOf(method: string, params: Fields): string | undefined {
  const key = nameKey(method)
  const value = key === undefined ? undefined : params[key]
  return typeof value === 'string' ? value : undefined
}

function unclassified(reason: BodyProblem | BodyAmbiguity): PostClass {
  return { kind: 'unclassified', reason }
}

function clientInfo(value: unknown): ClientInfo | undefined {
  if (!isRecord(value)) return undefined
  const { name, version } = value
  if (typeof name !== 'string') return undefined
  return { name: bounded(name), version: typeof version === 'string' ? bounded(version) : '' }
}

function bounded(text: string): string {
  if (text.length <= MAX_CLIENT_TEXT) return text
  // A plain slice would keep the whole original alive as long as the session.
  return Buffer.from(text.slice(0, MAX_CLIENT_TEXT), 'utf8').toString('utf8')
}

function boundedProtocolVersion(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_PROTOCOL_VERSION
    ? value
    : undefined
}

/** Returns the trace that a message names, as a copy: a slice would keep the whole body alive. */
function traceOf(meta: Fields): string | undefined {
  const value = meta['traceparent']
  const trace = typeof value === 'string' ? parseTraceparent(value) : undefined
  return trace === undefined ? undefined : inOnePiece(trace)
}
