import { asBuffer } from '../mcp/bytes.ts'
import type { Call } from '../mcp/call.ts'
import { classifyBody, inspectHead, type PostClass, type PostedMessages } from '../mcp/classify.ts'
import { isExemptPath } from '../mcp/exempt-path.ts'
import { headerValue, targetPath, type RequestHead } from '../mcp/http.ts'
import type { Failure, Upstream } from '../mcp/transfer.ts'
import type { Logger } from '../telemetry/log.ts'
import type { RefusalReason, Telemetry, UnclassifiedReason } from '../telemetry/telemetry.ts'
import { findAmbiguity } from './ambiguity.ts'
import type { CallEntry } from './call-entry.ts'
import { CallObserver } from './call-observer.ts'
import { codingOf, decodeWhole } from './content-coding.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { InitializeObserver } from './initialize-observer.ts'
import type { Ledger } from './ledger.ts'
import type { Observer } from './observer.ts'
import { Passage, type PassageOwner } from './passage.ts'
import { PushObserver } from './push-observer.ts'
import type { RareLog } from './rare-log.ts'
import { refuse } from './refusal.ts'
import { Relay } from './relay.ts'

/** What the pipeline works with. */
export interface PipelineParts {
  readonly upstream: Upstream
  readonly ledger: Ledger
  readonly telemetry: Telemetry
  readonly logger: Logger
  /** For what a failing app would write with every request. */
  readonly rareLog: RareLog
  /** In milliseconds. */
  readonly now: () => number
  /** Requests up to this size are read; larger ones stream through. */
  readonly maxBody: number
  /** Answer with an error, instead of passing on, when Squall itself fails. */
  readonly strict: boolean
  /** Reads a request body as MCP. */
  readonly classify?: typeof classifyBody
}

/** The way of every exchange: classify, send, relay, record. */
export class Pipeline implements PassageOwner {
  readonly #parts: PipelineParts
  readonly #classify: typeof classifyBody
  /** Hears of clients that leave before their request was read. */
  readonly #unread: ExchangeListener

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#classify = parts.classify ?? classifyBody
    this.#unread = {
      drained: () => undefined,
      tickOver: () => undefined,
      gone: () => parts.telemetry.http({ class: 'mcp', status: 0, origin: 'upstream' }),
    }
  }

  /** Takes over an exchange. Never throws: what goes wrong stays with this exchange. */
  handle(exchange: Exchange): void {
    try {
      this.#route(exchange)
    } catch (error) {
      this.#broke(exchange, error)
    }
  }

  /** Answers in the app's stead. */
  refuse(exchange: Exchange, status: number, reason: RefusalReason, message: string): void {
    const { answer } = exchange
    // Where a request cannot be trusted, its end cannot be either.
    if (reason === 'ambiguous_request') answer.closeAfter()
    if (answer.started) answer.cut('rst')
    else refuse(answer, { status, reason, message }, [], false)
    this.#parts.telemetry.refused(reason)
    this.#parts.telemetry.http({ class: 'http', status, origin: 'squall' })
  }

  #route(exchange: Exchange): void {
    const { head, body } = exchange
    const ambiguity = findAmbiguity(head)
    if (ambiguity !== undefined) {
      this.refuse(exchange, ambiguity.status, 'ambiguous_request', ambiguity.message)
      return
    }
    const { ledger, telemetry, maxBody, now } = this.#parts
    switch (inspectHead(head)) {
      case 'post':
        exchange.listener = this.#unread
        body.collect(maxBody, (bytes) => {
          try {
            this.#posted(exchange, bytes)
          } catch (error) {
            this.#broke(exchange, error)
          }
        })
        return
      case 'stream': {
        const observer = new PushObserver(ledger, telemetry, head, maxBody)
        this.#pass(new Passage(this, exchange, 'mcp', now(), observer))
        return
      }
      case 'session-end':
        ledger.sessions.forget(headerValue(head.headers, 'mcp-session-id') ?? '')
        this.#pass(new Passage(this, exchange, 'mcp', now(), null))
        return
      case 'http':
        this.#pass(new Passage(this, exchange, 'http', now(), null))
    }
  }

  #posted(exchange: Exchange, bytes: Uint8Array | null): void {
    const receivedAt = this.#parts.now()
    if (bytes === null) {
      this.#unclassified(exchange.head, 'too_large')
      this.#pass(new Passage(this, exchange, 'http', receivedAt, null))
      return
    }
    const endpoint = this.#parts.ledger.endpoints.lookup(exchange.head.target)
    const posted = this.#read(exchange.head, bytes, endpoint !== undefined)
    if (posted === undefined) {
      this.#pass(new Passage(this, exchange, 'http', receivedAt, null))
      return
    }
    this.#pass(this.#open(exchange, posted, endpoint ?? posted.session ?? '', receivedAt))
  }

  /** Reads a body as MCP; undefined when it is not, or cannot be read. */
  #read(head: RequestHead, bytes: Uint8Array, isSsePost: boolean): PostedMessages | undefined {
    const { telemetry, logger, maxBody, strict } = this.#parts
    const coding = codingOf(headerValue(head.headers, 'content-encoding'))
    const plain = decodeWhole(coding, bytes, maxBody)
    if (plain === undefined) {
      this.#unclassified(head, 'encoding')
      return undefined
    }
    let result: PostClass
    try {
      result = this.#classify(head, asBuffer(plain).toString(), isSsePost)
    } catch (error) {
      telemetry.unclassified('internal_error')
      if (strict) throw error
      logger.error({ err: error }, 'a request could not be read; it is passed on untouched')
      return undefined
    }
    if (result.kind === 'messages') return result
    this.#unclassified(head, result.reason)
    return undefined
  }

  /** JSON that clients post to log in, or to probe, is no MCP that went unread. */
  #unclassified(head: RequestHead, reason: UnclassifiedReason): void {
    if (!isExemptPath(targetPath(head.target))) this.#parts.telemetry.unclassified(reason)
  }

  /** Opens the calls of a POST and takes note of what it tells about sessions. */
  #open(exchange: Exchange, posted: PostedMessages, session: string, receivedAt: number): Passage {
    const { ledger, telemetry, maxBody } = this.#parts
    const { calls, notifications } = posted
    for (const { method, params } of notifications) {
      if (method === 'notifications/cancelled') ledger.cancel(session, params)
    }
    if (calls.length === 0) return new Passage(this, exchange, 'mcp', receivedAt, null)
    const entries: CallEntry[] = []
    for (const call of calls) entries.push(ledger.open(call, session, receivedAt))
    let observer: Observer = new CallObserver(ledger, telemetry, entries, session, maxBody)
    if (calls[0]!.method === 'initialize') {
      observer = new InitializeObserver(ledger.sessions, posted, session, observer)
    }
    return new Passage(this, exchange, 'mcp', receivedAt, observer, entries, posted.batch)
  }

  #pass(way: Passage): void {
    const { upstream, now } = this.#parts
    const { exchange, entries } = way
    const relay = new Relay(exchange, way.observer, way, now)
    try {
      relay.attach(upstream.send(exchange.head, exchange.body.forSending(), relay))
    } catch (error) {
      this.#unsent(way, error)
      return
    }
    const sentAt = now()
    for (const entry of entries) entry.sentAt = sentAt
    relay.handedOver(sentAt - way.receivedAt)
  }

  finished(way: Passage, status: number): void {
    if (way.entries.length > 0) return
    this.#parts.telemetry.http({ class: way.class, status, origin: 'upstream' })
  }

  /** The app could not be asked, or what it said was no answer: Squall answers. */
  unanswered(way: Passage, failure: Failure): void {
    const { reason, status } = REFUSALS[failure.kind]
    const message =
      failure.kind === 'overload' ? failure.message : `${TEXTS[reason]}: ${failure.message}`
    this.#answerFor(way, status, reason, message)
    this.#parts.rareLog.warn(reason, failure.message, 'answered for the app')
  }

  spent(time: number): void {
    this.#parts.telemetry.overhead(time / 1000)
  }

  /** Watching failed: the answer goes on, its calls are closed as far as they can be known. */
  blind(way: Passage, error: unknown): void {
    const { telemetry, ledger, logger } = this.#parts
    logger.error({ err: error }, 'an answer could not be read; it is passed on untouched')
    telemetry.unclassified('internal_error')
    for (const entry of way.entries) ledger.settle(entry, 'incomplete', 'squall')
  }

  /** Sending failed inside Squall, so that nobody else will ever close these calls. */
  #unsent(way: Passage, error: unknown): void {
    this.#parts.logger.error({ err: error }, 'an exchange failed inside Squall')
    this.#answerFor(way, 500, 'internal_error', 'an error of its own')
  }

  #answerFor(way: Passage, status: number, reason: RefusalReason, message: string): void {
    const { telemetry, ledger } = this.#parts
    const { answer } = way.exchange
    const calls: Call[] = way.entries.map(({ call }) => call)
    if (answer.started) answer.cut('rst')
    else refuse(answer, { status, reason, message }, calls, way.batch)
    telemetry.refused(reason)
    for (const entry of way.entries) ledger.settle(entry, 'http_error', 'squall')
    if (calls.length === 0) telemetry.http({ class: way.class, status, origin: 'squall' })
  }

  #broke(exchange: Exchange, error: unknown): void {
    this.#parts.logger.error({ err: error }, 'an exchange failed inside Squall')
    this.refuse(exchange, 500, 'internal_error', 'an error of its own')
  }
}

type Answerable = { readonly reason: RefusalReason; readonly status: number }

const UNREACHABLE: Answerable = { reason: 'upstream_unreachable', status: 502 }

/** What the client is told when the app gave no answer. Resets and closes are passed on as such. */
const REFUSALS: Readonly<Record<Failure['kind'], Answerable>> = {
  connect: UNREACHABLE,
  overload: { reason: 'overload', status: 503 },
  protocol: { reason: 'upstream_protocol', status: 502 },
  reset: UNREACHABLE,
  closed: UNREACHABLE,
}

const TEXTS: Readonly<Partial<Record<RefusalReason, string>>> = {
  upstream_unreachable: 'the app cannot be reached',
  upstream_protocol: 'the app answered with something that is not HTTP',
}
