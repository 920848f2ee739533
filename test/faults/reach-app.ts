import type { RequestListener, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { get, post } from '../accounting/stage.ts'
import { RawClient } from '../support/wire.ts'
import { said } from './push-app.ts'
import type { ReachPlay } from './reach-kind.ts'

/** Names the play that a request is part of. */
const CELL = 'x-cell'

/** The trace that the requests of a cell belong to. */
export function traceOf(cell: string): string {
  return cell.replace('c', '').padStart(32, '0').replace(/^./, 'f')
}

/** A server that takes part in many plays at once, and the clients of these plays. */
export class ReachApp {
  readonly #plays = new Map<string, ReachPlay>()
  readonly #streams = new Map<string, ServerResponse>()
  /** The messages that are left for the resumed streams of calls. */
  readonly #left = new Map<string, readonly unknown[]>()
  readonly #clients: RawClient[] = []

  readonly listener: RequestListener = (req, res) => {
    const cell = String(req.headers[CELL])
    const play = this.#plays.get(cell)
    const session = new URL(req.url!, 'http://app').searchParams.get('sessionId')
    void text(req).then((body) => {
      if (play === undefined) return void res.writeHead(202).end()
      if (play.asks !== undefined) return respond(play, '{"id":1,"method":""}', res, undefined)
      const left = this.#left.get(cell)
      if (req.method === 'GET' && (left ?? req.headers['last-event-id']) !== undefined)
        return replay(left ?? play.says, res)
      if (req.method === 'GET') return this.#listen(cell, play, res)
      if (play.resumes === true) {
        this.#left.set(cell, repliesTo(play, messagesIn(body) ?? []))
        return replay(play.says, res)
      }
      return respond(play, body, res, session === null ? undefined : this.#streams.get(session))
    })
  }

  /** Plays; resolves when all is sent. */
  async play(port: number, cell: string, play: ReachPlay): Promise<void> {
    this.#plays.set(cell, play)
    const { session, by, posts, headers = {}, listens, asks } = play
    const lines = Object.entries({
      [CELL]: cell,
      traceparent: `00-${traceOf(cell)}-0000000000000001-01`,
      ...(session === undefined ? {} : { 'mcp-session-id': `${session}-${cell}` }),
      ...headers,
    })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
    const send = async (bytes: string, method = 'POST'): Promise<RawClient> => {
      const client = await RawClient.connect(port)
      this.#clients.push(client)
      await client.send(bytes, method)
      return client
    }
    if (by === 'push' || listens === true) {
      const client = await send(get(by === 'push' ? '/sse' : '/mcp', lines), 'GET')
      const last = play.early === true ? play.says.at(-1) : undefined
      if (posts.length > 0)
        await client.sees(last === undefined ? 'endpoint' : JSON.stringify(last))
    }
    if (asks !== undefined) await send(get('/mcp', lines).replace('GET', asks), asks)
    for (const message of posts) {
      const target = by === 'push' ? `/message?sessionId=${cell}` : '/mcp'
      const client = await send(post(message, lines, target))
      // A request of the server must have passed before the client responds to it.
      if (message !== posts.at(-1)) await client.response()
      if (play.resumes !== true) continue
      await Promise.race([client.response(), client.gone])
      if (this.#plays.has(cell)) await send(get('/mcp', `${lines}last-event-id: e0\r\n`), 'GET')
    }
  }

  /** Ends what is open. */
  close(): void {
    for (const client of this.#clients.splice(0)) client.close()
    this.#plays.clear()
    this.#streams.clear()
    this.#left.clear()
  }

  #listen(cell: string, { by, says, posts, early }: ReachPlay, res: ServerResponse): void {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    if (by === 'push') {
      this.#streams.set(cell, res)
      res.write(`event: endpoint\ndata: /message?sessionId=${cell}\n\n`)
    }
    if (by !== 'push' || posts.length === 0 || early === true) {
      for (const each of says) res.write(said(each))
    }
    // Further messages come only where the client posts.
    if (posts.length === 0) res.end()
  }
}

/** Sends events with ids, from which a client can resume. */
function replay(messages: readonly unknown[], res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  res.write('id: e0\ndata:\n\n')
  for (const [n, each] of messages.entries()) res.write(said(each, `id: e${n + 1}\n`))
  res.end()
}

/** Responds to what a client posted: on the stream of its session where there is one. */
function respond(
  play: ReachPlay,
  body: string,
  res: ServerResponse,
  stream: ServerResponse | undefined,
): void {
  const { by, says, early } = play
  const messages = messagesIn(body)
  if (messages === undefined) return void res.writeHead(400).end()
  if (!messages.some(isRequest)) return void res.writeHead(202).end()
  if (play.responds !== undefined) return play.responds(res, messages[0]!.id)
  const replies = repliesTo(play, messages)
  if (by === 'json') {
    res.writeHead(200, { 'content-type': 'application/json' })
    return void res.end(JSON.stringify(body.startsWith('[') ? replies : replies[0]))
  }
  if (by === 'events') {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of [...says, ...replies]) res.write(said(each))
    return void res.end()
  }
  res.writeHead(202).end()
  for (const each of [...(early === true ? [] : says), ...replies]) stream?.write(said(each))
}

interface Posted {
  readonly id: unknown
  readonly method: string
}

const isRequest = ({ id, method }: Posted): boolean => id !== undefined && method !== undefined

function repliesTo({ reply }: ReachPlay, messages: readonly Posted[]): readonly object[] {
  return messages.filter(isRequest).flatMap((each) => reply(each) ?? [])
}

/** Reads a body; undefined when a fault has damaged it. */
function messagesIn(body: string): Posted[] | undefined {
  try {
    return [JSON.parse(body) as Posted].flat()
  } catch {
    return undefined
  }
}
