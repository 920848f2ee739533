import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readUpTo } from '#base'
import {
  type Body,
  headerValue,
  parseMessages,
  type RequestHead,
  type ResponseSink,
  targetPath,
  type Transfer,
  type Upstream,
} from '#protocol'
import type { Played, PlayedSession, Player, RpcRequest } from './player.ts'

const MAX_BODY = 64 * 1024 * 1024
const MAX_SESSIONS = 10_000
const JSON_TYPE = ['Content-Type', 'application/json'] as const
const STREAM = ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-cache'] as const
const SESSION = 'mcp-session-id'

/** Serves a tape as an MCP server that speaks Streamable HTTP. */
export class TapeUpstream implements Upstream {
  readonly #player: Player
  /** The oldest first. */
  readonly #sessions = new Map<string, PlayedSession>()

  constructor(player: Player) {
    this.#player = player
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const exchange = new TapeExchange(sink, this.#player)
    void this.#handle(head, body, exchange).catch((error: unknown) => exchange.fail(error))
    return exchange
  }

  async #handle(head: RequestHead, body: Body, exchange: TapeExchange): Promise<void> {
    const text = await bodyText(body)
    // The caller knows the transfer before the response.
    await nextTurn()
    if (exchange.ended) return
    const { method, target, headers } = head
    const id = headerValue(headers, SESSION)
    const session = id === undefined ? this.#player.shared : this.#sessions.get(id)
    const mayStream = (headerValue(headers, 'accept') ?? '').includes('text/event-stream')
    if (targetPath(target).includes('/.well-known/')) return exchange.status(404)
    if (text === undefined) return exchange.status(413)
    if (session === undefined) return exchange.error(404, -32001, 'Session not found')
    if (method === 'POST') return this.#post(text, session, exchange)
    if (method === 'DELETE' && id !== undefined && this.#sessions.delete(id))
      return exchange.status(200)
    if (method !== 'GET' || !mayStream || !this.#player.hasSessions) return exchange.status(405)
    return exchange.stream(session)
  }

  async #post(text: string, before: PlayedSession, exchange: TapeExchange): Promise<void> {
    const parsed = parseMessages(text)
    if (!parsed.ok)
      return exchange.error(400, parsed.reason === 'not_json' ? -32700 : -32600, 'Parse error')
    const requests: RpcRequest[] = []
    for (const message of parsed.messages) {
      if (message.kind === 'request') requests.push(message)
      else if (message.kind !== 'notification') this.#player.responded(message.id)
    }
    if (requests.length === 0) return exchange.status(202)
    const begins =
      requests.some(({ method }) => method === 'initialize') && this.#player.hasSessions
    const session = begins ? this.#begin(exchange) : before
    await exchange.play(requests, session, parsed.batch)
  }

  #begin(exchange: TapeExchange): PlayedSession {
    const id = randomUUID()
    const session = this.#player.session()
    this.#sessions.set(id, session)
    for (const [oldest] of this.#sessions) {
      if (this.#sessions.size <= MAX_SESSIONS) break
      this.#sessions.delete(oldest)
    }
    exchange.sessionLines = ['Mcp-Session-Id', id]
    return session
  }
}

type PartOf<Kind extends Played['kind']> = Extract<Played, { kind: Kind }>

/** Writes the response to one request. */
class TapeExchange implements Transfer {
  ended = false
  sessionLines: readonly string[] = []
  readonly #sink: ResponseSink
  readonly #player: Player
  readonly #left = new AbortController()
  #resumed: (() => void) | undefined

  constructor(sink: ResponseSink, player: Player) {
    this.#sink = sink
    this.#player = player
  }

  resume(): void {
    this.#resumed?.()
  }

  abort(): void {
    this.ended = true
    this.#left.abort()
    this.resume()
  }

  status(status: number): void {
    const allow = status === 405 ? ['Allow', 'POST'] : []
    this.#whole(status, allow, '')
  }

  error(status: number, code: number, message: string): void {
    const error = { jsonrpc: '2.0', id: null, error: { code, message } }
    this.#whole(status, JSON_TYPE, JSON.stringify(error))
  }

  fail(error: unknown): void {
    if (this.ended) return
    this.ended = true
    this.#sink.fail({ kind: 'internal', message: 'the tape could not be played', error })
  }

  /** Opens a stream for messages that belong to no request. */
  stream(session: PlayedSession): void {
    this.#head(200, STREAM)
    this.#left.signal.addEventListener(
      'abort',
      session.open((message) => {
        this.#sink.data(Buffer.from(eventOf(JSON.stringify(message))))
      }),
    )
  }

  /** Plays the responses to requests: as one body, or as events where the server sends more. */
  async play(
    requests: readonly RpcRequest[],
    session: PlayedSession,
    isBatch: boolean,
  ): Promise<void> {
    const { signal } = this.#left
    if (requests.length === 1 && !isBatch) {
      const parts = session.play(requests[0]!, signal)
      const first = await parts.next()
      if (this.ended || first.done === true) return
      const part = first.value
      if (isResponse(part)) {
        await this.#respond(part, requests[0]!)
        // What the server sent behind the response follows on another stream.
        await parts.next()
        return
      }
      this.#head(200, STREAM)
      await this.#event(part, requests[0]!)
      for await (const each of parts) await this.#event(each, requests[0]!)
    } else {
      this.#head(200, STREAM)
      const all = requests.map(async (request) => {
        for await (const each of session.play(request, signal)) await this.#event(each, request)
      })
      await Promise.all(all)
    }
    this.#end()
  }

  /** Writes a response that is the whole body. */
  async #respond(part: Played, request: RpcRequest): Promise<void> {
    if (part.kind === 'message') {
      this.#whole(part.status ?? 200, JSON_TYPE, JSON.stringify(part.message))
    } else if (part.kind === 'long') {
      const [before, after] = around(request)
      this.#head(200, [
        ...JSON_TYPE,
        'Content-Length',
        String(before.length + part.end - part.start + after.length),
      ])
      await this.#long(part, before, after)
      this.#end()
    } else if (part.kind === 'status') {
      const { retryAfter, body = '' } = part.line
      const lines = retryAfter === undefined ? [] : ['Retry-After', retryAfter]
      this.#whole(part.status, [...lines, 'Content-Type', 'text/plain; charset=utf-8'], body)
    } else this.#failed(part)
  }

  async #event(part: Played, request: RpcRequest): Promise<void> {
    if (this.ended) return
    if (part.kind === 'message') await this.#write(eventOf(JSON.stringify(part.message)))
    else if (part.kind === 'long') {
      const [before, after] = around(request)
      await this.#long(part, `event: message\ndata: ${before}`, `${after}\n\n`)
    } else if (part.kind === 'failed') this.#failed(part)
  }

  /** Writes a result from the file, piece by piece. */
  async #long(part: PartOf<'long'>, before: string, after: string): Promise<void> {
    await this.#write(before)
    for await (const piece of this.#player.tape.pieces(part)) {
      if (this.ended) return
      await this.#write(piece)
    }
    await this.#write(after)
  }

  #failed({ line }: PartOf<'failed'>): void {
    if (this.ended) return
    this.ended = true
    this.#sink.fail({ kind: line.failed ?? 'reset', message: 'recorded on the tape' })
  }

  #head(status: number, headers: readonly string[]): void {
    this.#sink.head({ status, reason: '', headers: [...headers, ...this.sessionLines] })
  }

  #whole(status: number, headers: readonly string[], text: string): void {
    if (this.ended) return
    const bytes = Buffer.from(text)
    this.#head(status, [...headers, 'Content-Length', String(bytes.length)])
    if (bytes.length > 0) this.#sink.data(bytes)
    this.#end()
  }

  /** Writes bytes; resolves when more may follow. */
  async #write(bytes: string | Uint8Array): Promise<void> {
    if (this.ended) return
    const more = this.#sink.data(typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
    if (!more) await new Promise<void>((resolve) => (this.#resumed = resolve))
  }

  #end(): void {
    if (this.ended) return
    this.ended = true
    this.#sink.end([])
  }
}

function isResponse(part: Played): boolean {
  return part.kind !== 'message' || !('method' in part.message)
}

function eventOf(text: string): string {
  return `event: message\ndata: ${text}\n\n`
}

/** Returns the parts of a response around its result. */
function around({ id }: RpcRequest): readonly [before: string, after: string] {
  // Escaped, so that characters are bytes.
  const own = JSON.stringify(id).replace(/[\u0080-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return [`{"jsonrpc":"2.0","id":${own},"result":`, '}']
}

/** Returns the text of a body; undefined when it is too large. */
async function bodyText(body: Body): Promise<string | undefined> {
  if (body === null) return ''
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  const bytes = await readUpTo(body, MAX_BODY)
  return bytes.length > MAX_BODY ? undefined : bytes.toString()
}
