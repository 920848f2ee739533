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
import {
  errorText,
  type Played,
  type PlayedSession,
  type Player,
  type RpcRequest,
} from './player.ts'
import { sizeOf, type TapeText, textWriter } from './tape.ts'

const MAX_BODY = 64 * 1024 * 1024
const MAX_SESSIONS = 10_000
const JSON_TYPE = ['Content-Type', 'application/json'] as const
const TEXT_TYPE = ['Content-Type', 'text/plain; charset=utf-8'] as const
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
    void this.#handle(head, body, exchange).catch((error: unknown) =>
      exchange.fail({ kind: 'internal', message: 'the tape could not be played', error }),
    )
    return exchange
  }

  async #handle(
    { method, target, headers }: RequestHead,
    body: Body,
    exchange: TapeExchange,
  ): Promise<void> {
    const isWhole = body === null || body instanceof Uint8Array
    const bytes = isWhole ? Buffer.from(body ?? []) : await readUpTo(body, MAX_BODY)
    // The caller knows the transfer before the response.
    await nextTurn()
    if (exchange.ended) return
    const id = headerValue(headers, SESSION)
    const session = id === undefined ? this.#player.shared : this.#sessions.get(id)
    const mayStream = (headerValue(headers, 'accept') ?? '').includes('text/event-stream')
    if (targetPath(target).includes('/.well-known/')) return exchange.whole(404)
    if (bytes.length > MAX_BODY) return exchange.whole(413)
    if (session === undefined)
      return exchange.whole(404, JSON_TYPE, errorText(-32001, 'Session not found'))
    if (method === 'POST') return this.#post(bytes.toString(), session, exchange)
    if (method === 'DELETE' && this.#sessions.delete(id ?? '')) return exchange.whole(200)
    if (method !== 'GET' || !mayStream || !this.#player.hasSessions)
      return exchange.whole(405, ['Allow', 'POST'])
    exchange.stream(session)
  }

  async #post(text: string, before: PlayedSession, exchange: TapeExchange): Promise<void> {
    const parsed = parseMessages(text)
    if (!parsed.ok) {
      const code = parsed.reason === 'not_json' ? -32700 : -32600
      return exchange.whole(400, JSON_TYPE, errorText(code, 'Parse error'))
    }
    const requests = this.#player.take(parsed.messages)
    if (requests.length === 0) return exchange.whole(202)
    const begins = requests.some(({ method }) => method === 'initialize')
    if (!begins || !this.#player.hasSessions) return exchange.play(requests, before, parsed.batch)
    const id = randomUUID()
    const session = this.#player.session()
    this.#sessions.set(id, session)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > MAX_SESSIONS) this.#sessions.delete(oldest!)
    exchange.sessionLines = ['Mcp-Session-Id', id]
    await exchange.play(requests, session, parsed.batch)
  }
}

/** Writes the response to one request. */
class TapeExchange implements Transfer {
  ended = false
  sessionLines: readonly string[] = []
  readonly #sink: ResponseSink
  readonly #left = new AbortController()
  readonly #write: (text: TapeText) => Promise<void>
  #isStream = false
  #resumed: (() => void) | undefined

  constructor(sink: ResponseSink, { tape }: Player) {
    this.#sink = sink
    this.#write = textWriter(tape, async (bytes) => {
      const isFull = !this.ended && !sink.data(bytes)
      if (isFull) await new Promise<void>((resolve) => (this.#resumed = resolve))
      return !this.ended
    })
  }

  resume(): void {
    this.#resumed?.()
  }

  abort(): void {
    this.ended = true
    this.#left.abort()
    this.resume()
  }

  fail(failure: Parameters<ResponseSink['fail']>[0]): void {
    if (this.ended) return
    this.ended = true
    this.#sink.fail(failure)
  }

  /** Writes a response at once. */
  async whole(status: number, headers: readonly string[] = [], text: TapeText = []): Promise<void> {
    if (this.ended) return
    this.#begin(status, [...headers, 'Content-Length', String(sizeOf(text))])
    await this.#write(text)
    this.#end()
  }

  /** Opens a stream for messages that belong to no request. */
  stream(session: PlayedSession): void {
    this.#beginStream()
    const close = session.open((text) => void this.#event([text]))
    this.#left.signal.addEventListener('abort', close)
  }

  /** Plays the responses to requests: as one body, or as events where the server sends more. */
  async play(
    requests: readonly RpcRequest[],
    session: PlayedSession,
    isBatch: boolean,
  ): Promise<void> {
    if (isBatch) this.#beginStream()
    const all = requests.map(async (request) => {
      for await (const part of session.play(request, this.#left.signal)) await this.#part(part)
    })
    await Promise.all(all)
    this.#end()
  }

  async #part({ text, status = 200, ends, line }: Played): Promise<void> {
    if (this.ended) return
    if (line?.failed !== undefined)
      this.fail({ kind: line.failed, message: 'recorded on the tape' })
    else if (this.#isStream || !ends) await this.#event(text)
    else if (line === undefined) await this.whole(status, JSON_TYPE, text)
    else {
      const { retryAfter, body } = line
      const lines = retryAfter === undefined ? [] : ['Retry-After', retryAfter]
      await this.whole(line.status ?? 200, [...lines, ...TEXT_TYPE], body ? [body] : [])
    }
  }

  async #event(text: TapeText): Promise<void> {
    this.#beginStream()
    await this.#write(['event: message\ndata: ', ...text, '\n\n'])
  }

  #beginStream(): void {
    if (!this.#isStream) this.#begin(200, STREAM)
    this.#isStream = true
  }

  #begin(status: number, headers: readonly string[]): void {
    this.#sink.head({ status, reason: '', headers: [...headers, ...this.sessionLines] })
  }

  #end(): void {
    if (this.ended) return
    this.ended = true
    this.#sink.end([])
  }
}
