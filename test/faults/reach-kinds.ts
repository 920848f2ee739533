import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Call } from '../../src/mcp/call.ts'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import type { ResponseKind } from '../../src/rules/explain/fault-outlook.ts'
import { get, post, request } from '../accounting/stage.ts'
import { said } from './push-app.ts'

/** A kind of message on one transport, on which a fault may act. */
export interface ReachKind {
  readonly title: string
  readonly match: MatchSpec
  /** The form of response in `explain`. */
  readonly on: ResponseKind
  readonly call: Partial<Call>
  readonly batched?: true
  /** The requests that a client sends one after the other, the message among them. */
  readonly sends: (session: string) => readonly string[]
  /** The events of an HTTP+SSE stream that the client opens first. */
  readonly pushes?: () => readonly string[]
}

export const NOTE = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } }
const PROGRESS = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }
const ELICIT = {
  jsonrpc: '2.0',
  id: 's1',
  method: 'elicitation/create',
  params: { message: 'go?' },
}
const ELICITED = { jsonrpc: '2.0', id: 's1', result: { action: 'accept' } }
const tool = (id: number, name = 'echo') =>
  request(id, 'tools/call', { name, arguments: { city: 'Bern' } })
let results = 0

/** A result that no other result is like. */
function resultOf(id: unknown): object {
  const content = [{ type: 'text', text: `a text of some length, ${results++}` }]
  const structuredContent = { temperature: 20, humidity: 60 }
  return { jsonrpc: '2.0', id, result: { content, structuredContent } }
}

const lines = (session: string): string => `Mcp-Session-Id: ${session}\r\n`
const json = (...messages: object[]) => {
  const body = messages.length === 1 ? messages[0]! : messages
  return (session: string) => [post(body, lines(session), '/json')]
}
const stream = (...messages: object[]) => {
  const body = messages.length === 1 ? messages[0]! : messages
  return (session: string) => [post(body, lines(session), '/events')]
}
const listen = (session: string) => [get('/events', lines(session))]
const ofServer = (method: string): MatchSpec => ({ direction: 'server', method: [method] })
const note: Partial<Call> = { id: undefined, kind: 'notification', name: undefined }
const message = (path: string) => (session: string) => `${path}?sessionId=${session}`

const CALLS: readonly ReachKind[] = [
  { title: 'JSON', on: 'json', sends: json(tool(1)) },
  { title: 'event stream', on: 'sse', sends: stream(tool(1)) },
  {
    title: 'HTTP+SSE',
    on: 'http+sse' as const,
    sends: (session: string) => [post(tool(1), '', message('/message')(session))],
    pushes: () => [said(resultOf(1))],
  },
  { title: 'batch, JSON', on: 'batch', batched: true, sends: json(tool(1), tool(2, 'other')) },
  {
    title: 'batch, event stream',
    on: 'batch-sse',
    batched: true,
    sends: stream(tool(1), tool(2, 'other')),
  },
].map((kind) => ({
  match: { tool: ['echo'] },
  call: kind.on === 'http+sse' ? { transport: 'http+sse' } : {},
  ...kind,
})) as readonly ReachKind[]

const CLIENT: readonly ReachKind[] = [
  {
    title: 'notification',
    match: { method: [NOTE.method] },
    on: 'posted',
    call: { ...note, method: NOTE.method, params: NOTE.params },
    sends: json(NOTE),
  },
  {
    title: 'notification of a batch',
    match: { method: [NOTE.method] },
    on: 'posted',
    call: { ...note, method: NOTE.method, params: NOTE.params },
    batched: true,
    sends: json(tool(1, 'other'), NOTE),
  },
  {
    title: 'response',
    match: { method: [ELICIT.method] },
    on: 'posted',
    call: { kind: 'response', method: ELICIT.method, name: undefined, params: undefined },
    sends: (session) => [...stream(tool(1, 'other'))(session), ...json(ELICITED)(session)],
  },
]

const serverKinds = (what: string, { method, params }: typeof PROGRESS | typeof ELICIT) => {
  const isNote = what === 'notification'
  const shared = {
    match: ofServer(method),
    call: {
      ...(isNote ? note : { id: 's1' }),
      method,
      params,
      from: 'server' as const,
      name: undefined,
    },
  }
  return [
    { ...shared, title: `${what}, stream of a call`, on: 'call-stream', sends: stream(tool(1)) },
    {
      ...shared,
      title: `${what} of a batch, stream of a call`,
      on: 'call-stream',
      sends: (session) => [post(tool(1), lines(session), '/batches')],
    },
    { ...shared, title: `${what}, GET stream`, on: 'session-stream', sends: listen },
    {
      ...shared,
      title: `${what}, HTTP+SSE`,
      on: 'session-stream',
      sends: () => [],
      pushes: () => (isNote ? [said(PROGRESS), said(ELICIT)] : [said(ELICIT), said(PROGRESS)]),
    },
  ] as readonly ReachKind[]
}

/** The kinds of messages, by sender. */
export const REACH_KINDS = {
  calls: CALLS,
  client: CLIENT,
  server: [...serverKinds('notification', PROGRESS), ...serverKinds('request', ELICIT)],
} as const

/** Answers in JSON or by a stream, as the path says; a stream has messages of the server, alone or in a batch. */
export const reachApp: RequestListener = (req: IncomingMessage, res: ServerResponse) => {
  const parts: Buffer[] = []
  req.on('data', (part: Buffer) => parts.push(part))
  req.on('end', () => {
    const text = Buffer.concat(parts).toString()
    const messages = messagesIn(text)
    if (messages === undefined) {
      res.writeHead(400).end()
      return
    }
    const ids = messages.filter(({ id, method }) => id !== undefined && method !== undefined)
    if (req.method === 'POST' && ids.length === 0) {
      res.writeHead(202).end()
      return
    }
    const responses = ids.map(({ id }) => resultOf(id))
    if (req.url !== '/json') {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      const own = req.url === '/batches' ? [[PROGRESS, ELICIT]] : [PROGRESS, ELICIT]
      for (const each of [...own, ...responses]) res.write(said(each))
      res.end()
      return
    }
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify(messages.length === 1 ? responses[0] : responses))
  })
}

/** Reads a body; undefined when a fault has damaged it. */
function messagesIn(text: string): { id?: unknown; method?: string }[] | undefined {
  try {
    return [JSON.parse(text || '[]') as object].flat()
  } catch {
    return undefined
  }
}
