import type { Call } from '../../src/mcp/call.ts'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import { type ReachKind, type ReachPlay, type Variant, withStdio } from './reach-kind.ts'
import { MESSAGES, paramsOf, resultOf } from './reach-messages.ts'

export const rpc = { jsonrpc: '2.0' }
/** Returns a request with all parameters, or with those that it cannot be without. */
export const request = (method: string, full: boolean, id: unknown = 1): object => {
  const params = paramsOf(method, full)
  return { ...rpc, id, method, ...(params && { params }) }
}
const note = (method: string, full: boolean): object => {
  const params = paramsOf(method, full)
  return { ...rpc, method, ...(params && { params }) }
}
const OTHER = { ...rpc, id: 9, method: 'tools/call', params: { name: 'other' } }
const CHANGED = { ...rpc, method: 'notifications/tools/list_changed' }
const AHEAD = [note('notifications/progress', true), CHANGED]

const replies =
  (how: Variant): ReachPlay['reply'] =>
  ({ id, method }) =>
    how === 'error'
      ? { ...rpc, id, error: { code: -1, message: 'no', data: { a: 1 } } }
      : { ...rpc, id, result: resultOf(method, how === 'all') }

const MODERN = '2026-07-28'
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** A request of protocol version 2026-07-28. */
function modern(method: string, full: boolean): Pick<ReachPlay, 'posts' | 'headers'> {
  const params: { _meta?: object } = paramsOf(method, full) ?? {}
  const _meta = { ...params._meta, [VERSION_KEY]: MODERN }
  const name = nameOf(method)
  return {
    posts: [{ ...rpc, id: 1, method, params: { ...params, _meta } }],
    headers: {
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    },
  }
}

const nameOf = (method: string): string | undefined => {
  const { name, uri, taskId } = (paramsOf(method, true) ?? {}) as Record<string, string>
  return name ?? uri ?? taskId
}

/** Returns the facts of a call. */
export const callOf = (method: string): Partial<Call> => ({
  method,
  name: nameOf(method),
  params: paramsOf(method, true),
})

const CALL_TRANSPORTS = [
  ['JSON', 'json', 'json'],
  ['event stream', 'sse', 'events'],
  ['resumed GET stream', 'resumed', 'events'],
  ['HTTP+SSE', 'http+sse', 'push'],
  ['batch, JSON', 'batch', 'json'],
  ['batch, event stream', 'batch-sse', 'events'],
] as const

/** Returns a call of the client on each transport. */
export function calls(method: string): readonly ReachKind[] {
  // A client has no session before it is given one, so that the stream cannot be resumed.
  const own = CALL_TRANSPORTS.filter(([, on]) => on !== 'resumed' || method !== 'initialize')
  return own.map(([transport, on, by]) => {
    const batched = transport.startsWith('batch')
    return {
      message: method,
      transport,
      match: { method: [method] },
      on,
      call: { ...callOf(method), ...(by === 'push' && { transport: 'http+sse' as const }) },
      ...(batched && { batched: true as const }),
      canFail: true as const,
      play: (how) => ({
        ...(method === 'initialize' || by === 'push' ? {} : { session: 's' }),
        by,
        ...(on === 'resumed' && { resumes: true as const }),
        says: how === 'all' && by !== 'json' ? AHEAD : [],
        reply: replies(how),
        posts: [batched ? [request(method, how === 'all'), OTHER] : request(method, how === 'all')],
      }),
    }
  })
}

function modernCalls(method: string): readonly ReachKind[] {
  const done = { taskId: 'T', status: 'completed', result: resultOf('tasks/result', true) }
  return CALL_TRANSPORTS.slice(0, 2).map(([transport, on, by]) => ({
    message: method,
    transport,
    match: { method: [method] },
    on,
    call: { ...callOf(method), protocolVersion: MODERN },
    canFail: true as const,
    play: (how) => ({
      session: 's',
      by,
      says: how === 'all' && by === 'events' ? AHEAD : [],
      reply: (asked) =>
        how === 'all' && method === 'tasks/get'
          ? { ...rpc, id: asked.id, result: { ...done, ...resultOf('', true) } }
          : replies(how)(asked),
      ...modern(method, how === 'all'),
    }),
  }))
}

const CLIENT_TRANSPORTS = ['alone', 'batch', 'HTTP+SSE'] as const

function ofClient(
  message: string,
  match: MatchSpec,
  call: Partial<Call>,
  sent: (how: Variant) => object,
  asked?: object,
): readonly ReachKind[] {
  return CLIENT_TRANSPORTS.map((transport) => ({
    message,
    transport,
    match,
    on: 'posted',
    call: {
      name: undefined,
      ...call,
      ...(transport === 'HTTP+SSE' && { transport: 'http+sse' as const }),
    },
    ...(transport === 'batch' && { batched: true as const }),
    ...(asked !== undefined && { canFail: true as const }),
    play: (how) => ({
      ...(transport === 'HTTP+SSE' ? {} : { session: 's' }),
      by: transport === 'HTTP+SSE' ? 'push' : 'events',
      says: asked === undefined ? [] : [asked],
      early: true,
      reply: replies('all'),
      posts: [
        ...(asked === undefined || transport === 'HTTP+SSE' ? [] : [OTHER]),
        transport === 'batch' ? [{ ...OTHER, id: 10 }, sent(how)] : sent(how),
      ],
    }),
  }))
}

function clientResponses(method: string): readonly ReachKind[] {
  const match: MatchSpec = { kind: 'response', method: [method] }
  const call = { kind: 'response' as const, method, params: undefined }
  const asked = request(method, true, 's1')
  return ofClient(
    `response to ${method}`,
    match,
    call,
    (how) => replies(how)({ id: 's1', method })!,
    asked,
  )
}

const SERVER_TRANSPORTS = [
  'stream of a call',
  'batch, stream of a call',
  'GET stream',
  'batch, GET stream',
  'resumed GET stream',
  'HTTP+SSE',
  'batch, HTTP+SSE',
] as const

function ofServer(method: string, isNote: boolean): readonly ReachKind[] {
  const match: MatchSpec = { direction: 'server', method: [method] }
  return SERVER_TRANSPORTS.map((transport) => ({
    message: method,
    transport,
    match,
    on: transport.endsWith('call') ? 'call-stream' : 'session-stream',
    call: {
      id: isNote ? undefined : 's1',
      ...(isNote && { kind: 'notification' as const }),
      method,
      params: paramsOf(method, true),
      from: 'server' as const,
      name: undefined,
    },
    play: (how) => {
      const full = how === 'all'
      const own = isNote ? note(method, full) : request(method, full, 's1')
      const said = full ? [own, note('notifications/message', false)] : [own]
      const onCall = transport.endsWith('call')
      return {
        ...(transport.endsWith('SSE') ? {} : { session: 's' }),
        by: transport.endsWith('SSE') ? 'push' : 'events',
        says: transport.startsWith('batch') ? [said] : said,
        reply: full ? replies('all') : () => undefined,
        posts: onCall ? [request('tools/call', true)] : [],
        ...(!onCall && { listens: true as const }),
        ...(transport.startsWith('resumed') && { headers: { 'last-event-id': 'e0' } }),
      }
    },
  }))
}

/** From 2026-07-28 on, a request of the server stands in the result of a call. */
function inputs(method: string): readonly ReachKind[] {
  const match: MatchSpec = { direction: 'server', method: [method] }
  return (['json', 'events'] as const).map((by) => ({
    message: method,
    transport: by === 'json' ? 'JSON' : 'event stream',
    match,
    on: by === 'json' ? 'input' : 'input-sse',
    call: {
      ...callOf(method),
      from: 'server' as const,
      name: undefined,
      protocolVersion: MODERN,
    },
    play: (how) => ({
      session: 's',
      by,
      says: how === 'all' && by === 'events' ? AHEAD : [],
      reply: ({ id }) => {
        const full = how === 'all'
        const params = paramsOf(method, full)
        const inputRequests = { q: { method, ...(params && { params }) } }
        const more = full ? { _meta: {} } : {}
        return { ...rpc, id, result: { resultType: 'input_required', inputRequests, ...more } }
      },
      ...modern('tools/call', how === 'all'),
    }),
  }))
}

const HTTP_FORMS = [
  ['body', 'http', 'json'],
  ['event stream', 'http-sse', 'events'],
] as const

/** Requests that a rule about HTTP matches: with a call, and without one. */
const EXCHANGES: readonly ReachKind[] = ['with a call', 'without a call'].flatMap((message) =>
  HTTP_FORMS.map(([transport, on, by]) => {
    const hasCall = message === 'with a call'
    const all = (): object => ({ ...resultOf('tools/call', true), ...resultOf('tools/list', true) })
    return {
      message,
      transport,
      match: { http: {} },
      on,
      call: hasCall ? callOf('tools/list') : undefined,
      canFail: true as const,
      play: (how) => ({
        session: 's',
        by,
        says: how === 'all' && by === 'events' ? AHEAD : [],
        reply: ({ id }) => {
          if (how === 'all') return { ...rpc, id, result: all() }
          if (hasCall || how !== 'nothing') return replies(how)({ id, method: '' })
          return by === 'json' ? { other: 1 } : undefined
        },
        posts: hasCall ? [request('tools/list', true)] : [],
        ...(!hasCall && { asks: 'DELETE' as const }),
      }),
    }
  }),
)

const LEGACY = ['initialize', 'ping', 'logging/setLevel', 'tasks/list', 'tasks/result']

/** The kinds of messages, by sender. */
export const REACH_KINDS: Readonly<Record<string, readonly ReachKind[]>> = {
  'Client requests': withStdio(MESSAGES.calls.flatMap(calls)),
  'Client requests, protocol version 2026-07-28': withStdio(
    MESSAGES.calls.filter((method) => !LEGACY.includes(method)).flatMap(modernCalls),
    'event stream',
  ),
  'Client notifications and responses': withStdio([
    ...MESSAGES.clientNotes.flatMap((method) =>
      ofClient(
        method,
        { method: [method] },
        { id: undefined, kind: 'notification', method, params: paramsOf(method, true) },
        (how) => note(method, how === 'all'),
      ),
    ),
    ...MESSAGES.serverRequests.flatMap(clientResponses),
  ]),
  'Server notifications and requests': withStdio([
    ...MESSAGES.serverNotes.flatMap((method) => ofServer(method, true)),
    ...MESSAGES.serverRequests.flatMap((method) => ofServer(method, false)),
  ]),
  'Requests for input, protocol version 2026-07-28': [
    'sampling/createMessage',
    'elicitation/create',
    'roots/list',
  ].flatMap(inputs),
  'Requests that `match.http` selects': EXCHANGES,
}
