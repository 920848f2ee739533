import type { ReachKind, ReachPlay } from './reach-kind.ts'
import { callOf, calls, request, rpc } from './reach-kinds.ts'
import { MAX_BODY } from './reach-stage.ts'

/** Calls of a client that has no session. */
const WITHOUT_SESSION: readonly ReachKind[] = ['tools/call', 'tools/list']
  .flatMap(calls)
  .filter(({ on }) => on === 'json' || on === 'sse')
  .map((kind) => ({
    ...kind,
    transport: `${kind.transport} without a session`,
    play: (how) => {
      const { session: _, ...play } = kind.play(how)
      return play
    },
  }))

const largeText = (id: unknown): string =>
  JSON.stringify({
    ...rpc,
    id,
    result: { content: [{ type: 'text', text: 'x'.repeat(4 * MAX_BODY) }] },
  })

function json(encode: (text: string) => string, headers: (body: string) => object): Responds {
  return (res, id) => {
    const body = encode(largeText(id))
    res.writeHead(200, { 'content-type': 'application/json', ...headers(body) })
    res.write(body)
    res.end()
  }
}

type Responds = NonNullable<ReachPlay['responds']>
const lengthOf = (body: string): object => ({ 'content-length': Buffer.byteLength(body) })
const upper = (text: string): string => text.toUpperCase()
const UNREAD: readonly (readonly [string, 'json' | 'sse', Responds])[] = [
  [
    'large event',
    'sse',
    (res, id) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end(`data: ${largeText(id)}\n\n`)
    },
  ],
  ['large body', 'json', json((text) => text, lengthOf)],
  [
    'large body in chunks',
    'json',
    json(
      (text) => text,
      () => ({}),
    ),
  ],
  [
    'body in an unknown coding',
    'json',
    json(upper, (body) => ({ 'content-encoding': 'secret', ...lengthOf(body) })),
  ],
]

/** Responses that Squall passes on without reading them. */
export const UNREAD_RESPONSES: readonly ReachKind[] = UNREAD.map(([transport, on, responds]) => ({
  message: 'tools/call',
  transport,
  match: { method: ['tools/call'] },
  on,
  call: callOf('tools/call'),
  unread: true as const,
  play: () => ({
    session: 's',
    by: on === 'json' ? 'json' : 'events',
    says: [],
    reply: () => undefined,
    responds,
    posts: [request('tools/call', true)],
  }),
}))

/** Kinds that the page does not show. */
export const MORE_KINDS = [...WITHOUT_SESSION, ...UNREAD_RESPONSES]
