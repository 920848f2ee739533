import { digest } from '../base/digest.ts'
import { type Caller, callerText } from '../http/caller.ts'
import { headerValue } from '../http/headers.ts'
import { FastRequestHead } from '../http/fast/fast-request-head.ts'
import { traceId } from '../http/traceparent.ts'
import type { ClientInfo, RequestCall } from '../mcp/call.ts'
import { isModern } from '../mcp/protocol-version.ts'
import { cutText } from '../telemetry/shown-ids.ts'
import { metaOf } from './action.ts'
import type { KeyKind } from './key-kinds.ts'
import type { ServerTools } from './server-tools.ts'

/** Configures how calls are grouped into tasks. */
export interface TaskKeys {
  /** The kinds of keys that are used; the order is fixed. */
  readonly by: readonly KeyKind[]
  /** The header with the key, in lower case. */
  readonly header: string
  /** The key of `_meta` with the key. */
  readonly meta: string | undefined
}

/** The sender of a call. */
export interface Sender {
  /** A string is the key of the caller, whose headers named `agent`. */
  readonly caller: Caller | string
  readonly agent?: ClientInfo | undefined
  /** The client that an `initialize` names. */
  readonly client?: ClientInfo | undefined
  /** Empty without a session. */
  readonly session: string
}

/** The facts of a request that name its task. */
export interface TaskFacts extends Sender {
  readonly caller: Caller
  /** The first 55 characters of a valid `traceparent`. */
  readonly trace: string | undefined
  readonly client: ClientInfo | undefined
  /** The tools of the server to which the request goes. */
  readonly server: ServerTools
}

export interface TaskKey {
  readonly kind: KeyKind
  readonly key: string
}

/** Returns the key of a call; undefined when none of the kinds in use names one. */
export function taskKeyOf(
  { by, header, meta }: TaskKeys,
  call: RequestCall,
  { caller, session, trace, client }: TaskFacts,
): TaskKey | undefined {
  for (const kind of by) {
    let key: string | undefined
    if (kind === 'header') key = headerValue(caller.head.headers, header)
    else if (kind === 'meta') key = meta === undefined ? undefined : metaOf(call, meta)
    else if (kind === 'trace') key = trace && traceId(trace)
    else if (kind === 'session') key = session
    else key = clientKey(caller, isModern(call.protocolVersion) ? client : undefined)
    if (key !== undefined && key !== '') return { kind, key }
  }
  return undefined
}

const MAX_AGENT = 60

/** Returns the client that `User-Agent` names, for clients that state nothing else. */
export function clientOfHeaders({ caller, agent }: Sender): ClientInfo | undefined {
  if (typeof caller === 'string') return agent
  const value = headerValue(caller.head.headers, 'user-agent')
  if (value === undefined || value === '') return undefined
  const [name = '', version = ''] = cutText(value, MAX_AGENT).split(' ', 1)[0]!.split('/')
  return { name, version }
}

/** Digests by what requests of one connection share; they are long to make. */
const DIGESTS = new WeakMap<object, string>()

/** Returns a digest of what identifies a caller, which may hold secrets; a digest as it is. */
export function callerKey(caller: Caller | string): string {
  if (typeof caller === 'string') return caller
  const { head } = caller
  if (!(head instanceof FastRequestHead)) return digest(callerText(caller))
  let known = DIGESTS.get(head.cache)
  if (known === undefined) DIGESTS.set(head.cache, (known = digest(callerText(caller))))
  return known
}

function clientKey(caller: Caller, client: ClientInfo | undefined): string {
  const key = callerKey(caller)
  return client === undefined ? key : `${key} ${client.name} ${client.version}`
}
