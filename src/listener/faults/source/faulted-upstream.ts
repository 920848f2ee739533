import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import { responseFactsOf } from '../../../http/response-facts.ts'
import type { Failure, ResponseSink, Transfer } from '../../../http/transfer.ts'
import { internalFailure } from '../../rejection.ts'
import type { Outgoing, Service } from '../../layers/service.ts'
import { noteResponse } from '../../side-faults.ts'
import { copiesRespond, readCopied, sendAlone, sendCopies } from '../request/copies.ts'
import { heavyWork } from '../../../base/event-loop.ts'
import { CallTexts, type SentRequest, postOf } from '../request/call-texts.ts'
import type { Reply } from '../../../mcp/reply.ts'
import { leave } from '../call-injection.ts'
import {
  type ExchangeFaults,
  hasMarkers,
  leaveResponse,
  readsAny,
  responseBegins,
} from '../exchange-faults.ts'
import { outputsOf } from '../chain/output-stage.ts'
import {
  emptyResponse,
  httpResponse,
  isStream,
  messageResponse,
} from '../emit/injected-response.ts'
import { Outlet, type OutletEvents } from '../emit/outlet.ts'
import { mayAskForInput } from './input-requests.ts'
import { type ResponseContext, type ResponsePart } from './response-part.ts'
import { BodyResponse } from './body-response.ts'
import { SseResponse } from './sse-response.ts'

/** Takes the request through the faults to the upstream, and the response back to the client. */
export class FaultedTransfer implements Transfer, ResponseSink, OutletEvents {
  readonly #inner: Service<Outgoing>
  readonly #faults: ExchangeFaults
  readonly #request: Outgoing
  readonly #sink: ResponseSink
  readonly #outlet: Outlet
  /** The faults' replies to calls of a batch whose rest was sent. */
  #replies: readonly Reply[] = []
  #transfer: Transfer | undefined
  /** Takes the response through faults; undefined where none acts on its messages. */
  #part: ResponsePart | undefined
  #isStaged = false
  /** True when no more data of the upstream is needed. */
  #dropped = false

  constructor(
    inner: Service<Outgoing>,
    faults: ExchangeFaults,
    request: Outgoing,
    sink: ResponseSink,
  ) {
    this.#inner = inner
    this.#faults = faults
    this.#request = request
    this.#sink = sink
    this.#outlet = new Outlet(sink, faults, this)
    if (faults.request.isActedOn) {
      void this.#decide().catch((error: unknown) => this.#outlet.fail(internalFailure(error)))
      return
    }
    try {
      this.#forward(request)
    } catch (error) {
      faults.finish()
      throw error
    }
  }

  resume(): void {
    this.#outlet.resume()
  }

  abort(): void {
    this.#drop()
    this.#stop()
  }

  info(head: ResponseHead): void {
    if (!this.#outlet.ended) this.#sink.info(head)
  }

  head(head: ResponseHead, whole = false): void {
    if (this.#outlet.ended) return
    // An upstream that does not know the session ignores copies, too.
    if (this.#faults.options.facts.session !== undefined) {
      for (const own of this.#faults.posted) copiesRespond(own, head.status === 404)
    }
    responseBegins(this.#faults, head)
    this.#part = this.#partFor(head, whole)
    // Only the head of a response on which no fault acts may carry markers.
    if (this.#part === undefined) this.#outlet.head(head, whole)
  }

  data(chunk: Uint8Array): boolean {
    return this.#outlet.ended || (this.#part ?? this.#outlet).data(chunk)
  }

  end(trailers: HeaderLines): void {
    if (this.#outlet.ended) return
    // The time of the HTTP faults is not the upstream's.
    if (this.#part === undefined && this.#isStaged)
      noteResponse(this.#faults.options.exchange.entries)
    const to = this.#part ?? this.#outlet
    to.end(trailers)
  }

  fail(failure: Failure): void {
    if (this.#outlet.ended) return
    const to = this.#part ?? this.#outlet
    to.fail(failure)
  }

  onDrain(): void {
    if (this.#part === undefined) this.#transfer?.resume()
    else this.#part.resume()
  }

  done(upstreamHasEnded: boolean): void {
    if (!upstreamHasEnded) this.#drop()
    this.#stop()
  }

  async #decide(): Promise<void> {
    const { exchange, parts } = this.#faults.options
    const { head: request } = exchange
    // Parsing the call took time, and the faults may take as long.
    const heavy = heavyWork.wait(exchange.weight ?? 0)
    if (heavy !== undefined) await heavy
    const texts = new CallTexts(this.#request.head, this.#request.body, parts.maxBody)
    const outcome = await this.#faults.request.ask(texts)
    if (this.#outlet.ended) return
    if (outcome.kind === 'cut') this.#outlet.cut(outcome.how)
    else if (outcome.kind === 'http') {
      this.#outlet.whole(httpResponse(outcome.reply, request, hasMarkers(this.#faults)))
    } else {
      const { responded, replies, repeated } = outcome
      // A single message that has a reply, or did not change, needs not be read again.
      const unread = responded.length === 0 ? texts.unread : undefined
      const isAnswered = exchange.posted?.batch !== true && responded.length > 0
      const sent = isAnswered ? 'empty' : (unread ?? (await texts.sent(responded)))
      const isCopied = this.#faults.posted.some(({ ordered }) => ordered.length > 0)
      const copied = isCopied ? await readCopied(this.#faults.posted, texts, responded) : []
      if (this.#outlet.ended) return
      if (sent === 'empty') {
        const marked = hasMarkers(this.#faults)
        this.#outlet.whole(
          replies.length === 0
            ? emptyResponse(this.#faults.calls[0]?.call, request, marked)
            : messageResponse(replies, exchange.posted!.batch, request, marked),
        )
      } else {
        this.#replies = replies
        this.#forward(sent, responded)
        for (const [own, text] of copied) sendCopies(own, text, this.#inner, texts)
        for (const text of repeated) this.#sendAlone(texts.alone(text, []))
      }
    }
  }

  #forward({ head, body }: SentRequest, responded: readonly number[] = []): void {
    this.#faults.forwarded()
    const { entries: all = [], barriers } = this.#request
    const isSent = (_: unknown, index: number): boolean => !responded.includes(index)
    const entries = responded.length === 0 ? all : all.filter(isSent)
    const transfer = this.#inner.send({ head, body, entries, barriers }, this)
    this.#transfer = transfer
    if (this.#dropped) transfer.abort()
  }

  #drop(): void {
    if (this.#dropped) return
    this.#dropped = true
    this.#transfer?.abort()
  }

  /** Ends the response after the client has left. */
  #stop(): void {
    this.#outlet.stop()
    this.#part?.stop()
  }

  #partFor(head: ResponseHead, whole: boolean): ResponsePart | undefined {
    const faults = this.#faults
    const replies = this.#replies
    if (faults.request.redirect !== undefined) return undefined
    for (const own of faults.calls) {
      // With responses on another connection this response only accepts the calls.
      if (own.isElsewhere) continue
      own.response = head
      if (faults.shared) leave(own, 'output', 'shared_exchange')
    }
    this.#isStaged = outputsOf(faults).length > 0
    if (this.#isStaged) this.#outlet.addStage()
    const isPlanned = faults.planned.messagePlanner !== undefined
    const isRead = readsAny(faults) || (isPlanned && (isStream(head) || mayAskForInput(faults)))
    if (!isRead && replies.length === 0) return undefined
    const { coding } = responseFactsOf(head)
    const context: ResponseContext = {
      faults,
      outlet: this.#outlet,
      head,
      whole,
      coding,
      replies,
      upstream: {
        resume: () => this.#transfer?.resume(),
        drop: () => this.#drop(),
        post: (text) => this.#sendAlone(postOf(this.#request.head, text)),
      },
    }
    if (!isStream(head) || faults.options.exchange.head.method === 'HEAD')
      return new BodyResponse(context)
    if (coding !== 'unknown') return new SseResponse(context)
    const alone = !faults.shared && replies.length === 0
    if (alone && faults.all.some(({ mayReplace }) => mayReplace)) return new BodyResponse(context)
    leaveResponse(faults, 'unreadable')
    return undefined
  }

  /** Sends a request of Squall itself. */
  #sendAlone(request: SentRequest): void {
    const { closing, memory } = this.#faults.options.parts
    sendAlone(request, this.#inner, closing, memory)
  }
}
