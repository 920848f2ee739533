import { isInputRequest } from '../../filters/lib/outlook.ts'
import { sharesStream } from '../../mcp/call.ts'
import { isModern } from '../../mcp/protocol-version.ts'
import type { Facts } from '../match/call-facts.ts'

/**
 * The form of the response. A rule about HTTP sees `http`, with or without a call in it. A message
 * that is no call is `posted`, or an event on the stream of a call or session. A request for
 * `input` stands in a result.
 */
export type ResponseKind =
  | 'json'
  | 'sse'
  | 'http+sse'
  | 'stdio'
  | 'resumed'
  | 'batch'
  | 'batch-sse'
  | 'http'
  | 'http-sse'
  | 'posted'
  | 'call-stream'
  | 'session-stream'
  | 'input'
  | 'input-sse'

/** The way of a response, or message, to its receiver. */
export interface Way {
  readonly stream?: true
  readonly shared?: true
  /** The response comes by another connection. */
  readonly elsewhere?: true
  /** The stream of the request ended before the response. */
  readonly resumed?: true
  /** The message is no call. */
  readonly message?: true
  /** The message stands in the result of a call. */
  readonly input?: true
}

/** Returns true when no event of the response comes on the exchange of the request. */
export function isPushed({ elsewhere, resumed }: Way): boolean {
  return elsewhere === true && resumed !== true
}

type Forms = readonly (readonly [ResponseKind, Way])[]

const OF_CALLS: Forms = [
  ['json', {}],
  ['sse', { stream: true }],
  ['http+sse', { stream: true, elsewhere: true }],
  ['batch', { shared: true }],
  ['batch-sse', { stream: true, shared: true }],
]
const OF_STDIO: Forms = [['stdio', { stream: true, elsewhere: true }]]
const RESUMED: Forms = [...OF_CALLS, ['resumed', { stream: true, elsewhere: true, resumed: true }]]
const OF_HTTP: Forms = [
  ['http', {}],
  ['http-sse', { stream: true }],
]

const POSTED: Forms = [['posted', { message: true }]]
const ON_SESSION: Forms = [['session-stream', { message: true, elsewhere: true }]]
const OF_SERVER: Forms = [['call-stream', { message: true }], ...ON_SESSION]

const OF_INPUT: Forms = [
  ['input', { message: true, input: true }],
  ['input-sse', { message: true, input: true, stream: true }],
]

/** Returns the forms that the rule may meet. */
export function waysOf(isHttp: boolean, { call, session }: Facts): Forms {
  if (isHttp) return OF_HTTP
  if (call?.from === 'server')
    return isInputRequest(call) ? OF_INPUT : call.transport === 'stdio' ? ON_SESSION : OF_SERVER
  if (call?.kind !== undefined) return POSTED
  if (call?.transport === 'stdio') return OF_STDIO
  const mayResume = !sharesStream(call?.transport) && !isModern(call?.protocolVersion)
  return mayResume && session !== undefined ? RESUMED : OF_CALLS
}
