import { headerValue } from '../../../http/headers.ts'
import type { HeaderLines, RequestHead, ResponseHead } from '../../../http/headers.ts'
import type { Body, Failure, ResponseSink, Transfer, Upstream } from '../../../http/transfer.ts'
import { type Copied, readCopied, sendAlone, sendCopies } from '../request/copies.ts'
import { heavyWork } from '../../../base/event-loop.ts'
import { CallTexts, postOf } from '../request/call-texts.ts'
import type { Reply } from '../../../mcp/reply.ts'
import { leave, mayReplace } from '../call-injection.ts'
import { type ExchangeFaults, hasMarkers, readsAny } from '../exchange-faults.ts'
import { outputsOf } from '../chain/output-stage.ts'
import { emptyResponse, httpResponse, messageResponse } from '../emit/injected-response.ts'
import { Outlet } from '../emit/outlet.ts'
import { mayAskForInput } from './input-requests.ts'
import { codingOf } from '../../../http/content-coding.ts'
import type { UpstreamControl, ResponseContext, ResponsePart } from './response-part.ts'
import { BodyResponse } from './body-response.ts'
import { isStream } from './body-messages.ts'
import { SseResponse } from './sse-response.ts'

/**
 * Wraps the upstream with the faults of one exchange, so that relay and observers need not know
 * about faults.
 */
export function faultedUpstream(upstream: Upstream, faults: ExchangeFaults): Upstream {
  return {
    send(head, body, sink) {
      const transfer = new FaultedTransfer(upstream, faults, head, body, sink)
      transfer.begin()
      return transfer
    },
  }
}

class FaultedTransfer implements Transfer {
  readonly #upstream: Upstream
  readonly #faults: ExchangeFaults
  readonly #head: RequestHead
  readonly #body: Body
  readonly #outlet: Outlet
  #transfer: Transfer | undefined
  #faulted: FaultedSink | undefined
  /** True when no more data of the upstream is needed. */
  #dropped = false

  constructor(
    upstream: Upstream,
    faults: ExchangeFaults,
    head: RequestHead,
    body: Body,
    sink: ResponseSink,
  ) {
    this.#upstream = upstream
    this.#faults = faults
    this.#head = head
    this.#body = body
    this.#outlet = new Outlet(sink, faults)
  }

  begin(): void {
    if (this.#faults.actsOnRequest) {
      void this.#decide().catch((error: unknown) => {
        const message = (error as Error).message
        this.#outlet.fail({ kind: 'protocol', message })
      })
      return
    }
    try {
      this.#forward(this.#head, this.#body, [])
    } catch (error) {
      this.#faults.finish()
      throw error
    }
  }

  resume(): void {
    if (this.#faulted === undefined) this.#outlet.resume()
    else this.#faulted.resume()
  }

  abort(): void {
    this.#drop()
    this.#outlet.stop()
    this.#faulted?.stop()
  }

  async #decide(): Promise<void> {
    const { request, batch, maxBody, weight = 0 } = this.#faults.options
    // Parsing the call took time, and the faults may take as long.
    const heavy = heavyWork.wait(weight)
    if (heavy !== undefined) await heavy
    const texts = new CallTexts(this.#head, this.#body, maxBody)
    const outcome = await this.#faults.request(texts)
    if (this.#outlet.ended) return
    const marked = hasMarkers(this.#faults)
    if (outcome.kind === 'cut') this.#outlet.cut(outcome.how)
    else if (outcome.kind === 'http')
      this.#outlet.whole(httpResponse(outcome.reply, request, marked))
    else {
      const { responded, replies, repeated } = outcome
      // A single message that has a reply, or did not change, needs not be read again.
      const unread = responded.length === 0 ? texts.unread : undefined
      const isAnswered = !batch && responded.length > 0
      const sent = isAnswered ? 'empty' : (unread ?? (await texts.sent(responded)))
      const isCopied = this.#faults.posted.some(({ copies }) => copies?.isWanted === true)
      const copied = isCopied ? await readCopied(this.#faults.posted, texts, responded) : []
      if (this.#outlet.ended) return
      if (sent === 'empty') {
        this.#outlet.whole(
          replies.length === 0
            ? emptyResponse(this.#faults.calls[0]?.call, request, marked)
            : messageResponse(replies, batch, request, marked),
        )
      } else {
        this.#forward(sent.head, sent.body, replies)
        this.#copy(copied, texts, repeated)
      }
    }
  }

  #copy(copied: readonly Copied[], texts: CallTexts, repeated: readonly string[]): void {
    const { closing, listener, memory } = this.#faults.options
    const options = {
      upstream: this.#upstream,
      texts,
      memory,
      closing,
      onError: (error: unknown) => listener.failed({ rule: '', fault: '', call: undefined }, error),
    }
    for (const { owner, text } of copied) {
      const isInSession = this.#faults.options.facts.session !== undefined
      for (const order of owner.copies?.take(isInSession) ?? [])
        void sendCopies({ text, order, owner }, options)
    }
    for (const text of repeated) sendAlone(texts.alone(text, []), options)
  }

  #forward(head: RequestHead, body: Body, replies: readonly Reply[]): void {
    const { closing, memory } = this.#faults.options
    const upstream = {
      resume: () => this.#transfer?.resume(),
      drop: () => this.#drop(),
      post: (text: string) =>
        sendAlone(postOf(this.#head, text), { upstream: this.#upstream, closing, memory }),
    }
    this.#faulted = new FaultedSink(this.#faults, this.#outlet, replies, upstream)
    this.#faults.forwarded()
    const transfer = this.#upstream.send(head, body, this.#faulted)
    this.#transfer = transfer
    this.#faults.options.onSent?.()
    if (this.#dropped) transfer.abort()
  }

  #drop(): void {
    if (this.#dropped) return
    this.#dropped = true
    this.#transfer?.abort()
  }
}

/** Pipes the upstream's response through the faults to the client. */
export class FaultedSink implements ResponseSink {
  readonly #faults: ExchangeFaults
  readonly #outlet: Outlet
  readonly #replies: readonly Reply[]
  readonly #upstream: UpstreamControl
  #part: ResponsePart | undefined

  constructor(
    faults: ExchangeFaults,
    outlet: Outlet,
    replies: readonly Reply[],
    upstream: UpstreamControl,
  ) {
    this.#faults = faults
    this.#outlet = outlet
    this.#replies = replies
    this.#upstream = upstream
  }

  info(head: ResponseHead): void {
    this.#outlet.info(head)
  }

  head(head: ResponseHead, whole = false): void {
    if (this.#outlet.ended) return
    // An upstream that does not know the session ignores copies, too.
    if (this.#faults.options.facts.session !== undefined) {
      for (const own of this.#faults.posted) own.copies?.responds(head.status === 404)
    }
    this.#faults.responseBegins(head)
    this.#part = this.#partFor(head, whole)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#outlet.ended || this.#part === undefined) return true
    return this.#part.data(chunk)
  }

  end(trailers: HeaderLines): void {
    if (!this.#outlet.ended) this.#part?.end(trailers)
  }

  fail(failure: Failure): void {
    if (this.#outlet.ended) return
    if (this.#part === undefined) this.#outlet.fail(failure)
    else this.#part.fail(failure)
  }

  resume(): void {
    const { stage } = this.#outlet
    if (stage === undefined) this.#onDrain()
    else stage.resume()
  }

  /** Ends the response after the client has left. */
  stop(): void {
    this.#outlet.stop()
    this.#part?.stop()
  }

  #onDrain(): void {
    this.#outlet.resume()
    this.#part?.resume()
  }

  #partFor(head: ResponseHead, whole: boolean): ResponsePart {
    const faults = this.#faults
    const coding = codingOf(headerValue(head.headers, 'content-encoding'))
    const context: ResponseContext = {
      faults,
      outlet: this.#outlet,
      head,
      whole,
      coding,
      replies: this.#replies,
      upstream: this.#upstream,
    }
    if (faults.passesRedirect) return new UnreadResponse(context)
    for (const own of faults.calls) {
      // With responses on another connection this response only accepts the calls.
      if (own.isElsewhere) continue
      own.response = head
      if (faults.shared) leave(own, 'output', 'shared_exchange')
    }
    if (outputsOf(faults).length > 0) {
      this.#outlet.addStage({
        onDrain: () => this.#onDrain(),
        done: (upstreamHasEnded) => {
          if (!upstreamHasEnded) this.#upstream.drop()
          this.stop()
        },
      })
    }
    const isPlanned = faults.options.messagePlanner !== undefined
    const isRead = readsAny(faults) || (isPlanned && (isStream(head) || mayAskForInput(faults)))
    if (!isRead && this.#replies.length === 0) {
      return new UnreadResponse(context)
    }
    if (!isStream(head) || faults.options.request.method === 'HEAD')
      return new BodyResponse(context)
    if (coding !== 'unknown') return new SseResponse(context)
    const alone = !faults.shared && this.#replies.length === 0
    if (alone && faults.all.some(mayReplace)) return new BodyResponse(context)
    faults.leaveResponse('unreadable')
    return new UnreadResponse(context)
  }
}

/** Forwards a response on which no fault acts; only its head may carry markers. */
export class UnreadResponse implements ResponsePart {
  readonly #context: ResponseContext

  constructor(context: ResponseContext) {
    this.#context = context
    context.outlet.head(context.head, context.whole)
  }

  data(chunk: Uint8Array): boolean {
    return this.#context.outlet.data(chunk)
  }

  end(trailers: HeaderLines): void {
    const { outlet, faults } = this.#context
    // The time of the HTTP faults is not the upstream's.
    if (outlet.stage !== undefined) faults.options.onResponded?.(undefined)
    outlet.end(trailers)
  }

  fail(failure: Failure): void {
    this.#context.outlet.fail(failure)
  }

  resume(): void {
    this.#context.upstream.resume()
  }

  stop(): void {
    // Nothing is held.
  }
}
