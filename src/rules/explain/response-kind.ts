import { isInputRequest } from '../../filters/lib/outlook.ts'
import { sharesStream } from '../../mcp/call.ts'
import { isModern } from '../../mcp/protocol-version.ts'
import type { Facts } from '../match/call-facts.ts'

/** The form in which a response, or message, reaches its receiver. */
export interface Form {
  readonly stream?: boolean
  readonly shared?: boolean
  /** The response is sent on another connection. */
  readonly elsewhere?: boolean
  /** The stream of the request ended before the response. */
  readonly resumed?: boolean
  /** The message is not a call. */
  readonly message?: boolean
  /** The message is part of the result of a call. */
  readonly input?: boolean
}

const EVENTS = { stream: true }
const PUSHED = { ...EVENTS, elsewhere: true }
const INPUT = { message: true, input: true }

/**
 * The forms of the response. A rule about HTTP sees `http`, with or without a call. Other messages
 * than calls are `posted`, or events on the stream of a call or session. A request for `input` is
 * part of a result.
 */
const FORMS = {
  json: {},
  sse: EVENTS,
  'http+sse': PUSHED,
  batch: { shared: true },
  'batch-sse': { ...EVENTS, shared: true },
  resumed: { ...PUSHED, resumed: true },
  stdio: PUSHED,
  http: {},
  'http-sse': EVENTS,
  posted: { ...EVENTS, message: true },
  'call-stream': { ...EVENTS, message: true },
  'session-stream': { ...PUSHED, message: true },
  input: INPUT,
  'input-sse': { ...EVENTS, ...INPUT },
}

export type ResponseKind = keyof typeof FORMS

/** Returns true when no event of the response comes on the exchange of the request. */
export function isPushed({ elsewhere, resumed }: Form): boolean {
  return elsewhere === true && resumed !== true
}

/** Returns the forms that may occur for the rule. */
export function formsOf(isHttp: boolean, facts: Facts): readonly (readonly [ResponseKind, Form])[] {
  return kindsOf(isHttp, facts).map((kind) => [kind, FORMS[kind]])
}

function kindsOf(isHttp: boolean, { call, session }: Facts): readonly ResponseKind[] {
  if (isHttp) return ['http', 'http-sse']
  if (call?.from === 'server') {
    if (isInputRequest(call)) return ['input', 'input-sse']
    return call.transport === 'stdio' ? ['session-stream'] : ['call-stream', 'session-stream']
  }
  if (call?.kind !== undefined) return ['posted']
  if (call?.transport === 'stdio') return ['stdio']
  const mayResume = !sharesStream(call?.transport) && !isModern(call?.protocolVersion)
  const resumed = mayResume && session !== undefined ? (['resumed'] as const) : []
  return ['json', 'sse', 'http+sse', 'batch', 'batch-sse', ...resumed]
}
