import { acceptsType } from './accept.ts'
import type { Call, ClientInfo, Transport } from './call.ts'
import { mediaType, targetPath } from './http.ts'
import type { HeaderLines, RequestHead } from './http.ts'
import { isRecord, parseMessages } from './json-rpc.ts'
import type { BodyProblem } from './json-rpc.ts'
import type { Message } from './message.ts'

/** What a request may be by its head alone. */
export type HeadClass =
  /** A POST whose body may be JSON-RPC. */
  | 'post'
  /** A GET that asks for an event stream. */
  | 'stream'
  /** A DELETE that ends a session. */
  | 'session-end'
  /** Everything else. */
  | 'http'

/** A notification from the client. */
export type NotificationMessage = Extract<Message, { kind: 'notification' }>

/** A POST body that was read as JSON-RPC. */
export interface PostedMessages {
  readonly kind: 'messages'
  readonly batch: boolean
  readonly calls: readonly Call[]
  readonly notifications: readonly NotificationMessage[]
  /** How many results and errors the client posted. */
  readonly responses: number
  /** What the first call states, else what the header states. */
  readonly revision: string | undefined
  /** The session header's value. */
  readonly session: string | undefined
  readonly client: ClientInfo | undefined
}

/** A POST body, read or not. */
export type PostClass =
  PostedMessages | { readonly kind: 'unclassified'; readonly reason: BodyProblem }

const META = 'io.modelcontextprotocol/'
const META_REVISION = `${META}protocolVersion`
const META_CLIENT = `${META}clientInfo`
const MAX_REVISION = 64
const MAX_CLIENT_TEXT = 256

/** Sorts a request by its head: decides whether its body is worth reading. */
export function inspectHead(head: RequestHead): HeadClass {
  switch (head.method) {
    case 'POST':
      return isJsonPost(head.headers) ? 'post' : 'http'
    case 'GET':
      return asksForStream(head.headers) && !isWellKnown(head.target) ? 'stream' : 'http'
    case 'DELETE':
      return hasSession(head.headers) ? 'session-end' : 'http'
    default:
      return 'http'
  }
}

/** Reads a POST body. The body alone decides what is called: stray `Mcp-*` headers change nothing. */
export function classifyBody(head: RequestHead, text: string, isSsePost: boolean): PostClass {
  const parsed = parseMessages(text)
  if (!parsed.ok) return { kind: 'unclassified', reason: parsed.reason }
  let session: string | undefined
  let stated: string | undefined
  const lines = head.headers
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (key.length === 14) {
      if (session === undefined && isName(key, 'mcp-session-id')) session = lines[i + 1]
    } else if (key.length === 20) {
      if (stated === undefined && isName(key, 'mcp-protocol-version')) stated = lines[i + 1]
    }
  }
  stated = boundedRevision(stated)
  const transport: Transport = isSsePost ? 'http+sse' : 'streamable-http'
  const calls: Call[] = []
  const notifications: NotificationMessage[] = []
  let responses = 0
  let client: ClientInfo | undefined
  for (const message of parsed.messages) {
    if (message.kind === 'request') {
      const { id, method, params } = message
      const fields = isRecord(params) ? params : undefined
      const meta = fields === undefined ? undefined : recordAt(fields, '_meta')
      const isInitialize = method === 'initialize'
      const revision =
        boundedRevision(meta?.[META_REVISION]) ??
        (isInitialize ? boundedRevision(fields?.['protocolVersion']) : undefined) ??
        stated
      const token = meta?.['progressToken']
      const progressToken =
        typeof token === 'string' || typeof token === 'number' ? token : undefined
      const name = fields === undefined ? undefined : nameOf(method, fields)
      calls.push({ id, method, name, params, transport, revision, progressToken })
      client ??= clientInfo(meta?.[META_CLIENT])
      if (isInitialize) client ??= clientInfo(fields?.['clientInfo'])
    } else if (message.kind === 'notification') {
      notifications.push(message)
    } else {
      responses++
    }
  }
  const revision = calls.length > 0 ? calls[0]!.revision : stated
  const batch = parsed.batch
  return { kind: 'messages', batch, calls, notifications, responses, revision, session, client }
}

/** True for what only a rule naming the method may touch: without it no session comes about. */
export function isHandshake(method: string): boolean {
  return (
    method === 'initialize' ||
    method === 'server/discover' ||
    method === 'ping' ||
    method.startsWith('notifications/')
  )
}

/** What a call is about, from the parameter that its method names things by. */
function nameOf(method: string, params: Record<string, unknown>): string | undefined {
  let value: unknown
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      value = params['name']
      break
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      value = params['uri']
      break
    default:
      if (method.startsWith('tasks/')) value = params['taskId']
  }
  return typeof value === 'string' ? value : undefined
}

function clientInfo(value: unknown): ClientInfo | undefined {
  if (!isRecord(value)) return undefined
  const { name, version } = value
  if (typeof name !== 'string') return undefined
  return { name: bounded(name), version: typeof version === 'string' ? bounded(version) : '' }
}

function bounded(text: string): string {
  if (text.length <= MAX_CLIENT_TEXT) return text
  // A plain slice would keep the whole original alive for as long as the session is known.
  return Buffer.from(text.slice(0, MAX_CLIENT_TEXT), 'utf8').toString('utf8')
}

function boundedRevision(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_REVISION
    ? value
    : undefined
}

function recordAt(of: Record<string, unknown>, key: string): Record<string, unknown> | undefined {
  const value = of[key]
  return isRecord(value) ? value : undefined
}

function isName(key: string, name: string): boolean {
  return key === name || key.toLowerCase() === name
}

function isJsonPost(lines: HeaderLines): boolean {
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (key.length === 12 && isName(key, 'content-type')) {
      const value = lines[i + 1]!
      return value === 'application/json' || mediaType(value) === 'application/json'
    }
  }
  return false
}

function asksForStream(lines: HeaderLines): boolean {
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (key.length === 6 && isName(key, 'accept')) {
      const value = lines[i + 1]!
      if (value === 'text/event-stream' || acceptsType(value, 'text/event-stream')) return true
    }
  }
  return false
}

function hasSession(lines: HeaderLines): boolean {
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (key.length === 14 && isName(key, 'mcp-session-id')) return true
  }
  return false
}

function isWellKnown(target: string): boolean {
  return targetPath(target).includes('/.well-known/')
}
