import { headerValue } from '../../../http/headers.ts'
import type { HeaderLines, RequestHead, ResponseHead } from '../../../http/headers.ts'
import {
  type Body,
  type Failure,
  internalFailure,
  type ResponseSink,
  type Transfer,
  type Upstream,
} from '../../../http/transfer.ts'
import type { Outgoing, Service } from '../../layers/layer.ts'
import { type Copied, readCopied, sendAlone, sendCopies } from '../request/copies.ts'
import { heavyWork } from '../../../base/event-loop.ts'
import { CallTexts, postOf } from '../request/call-texts.ts'
import type { Reply } from '../../../mcp/reply.ts'
import type { ExchangeFaults } from '../exchange-faults.ts'
import { emptyResponse, httpResponse, messageResponse } from '../emit/injected-response.ts'
import { Outlet } from '../emit/outlet.ts'
import { mayAskForInput } from './input-requests.ts'
import { codingOf } from '../../../http/content-coding.ts'
import type { UpstreamControl, ResponseContext, ResponsePart } from './response-part.ts'
import { BodyResponse } from './body-response.ts'
import { isStream } from './body-messages.ts'
import { SseResponse } from './sse-response.ts'

/** The ways to the upstream. */
interface Services {
  readonly inner: Service<Outgoing>
  /** Sends requests of Squall itself. */
  readonly alone: Upstream
}

/** Sends a request under the faults of its exchange, which relay and observers need not know. */
export function faultedTransfer(
  services: Services,
  faults: ExchangeFaults,
  request: Outgoing,
  sink: ResponseSink,
): Transfer {
  const transfer = new FaultedTransfer(services, faults, request, sink)
  transfer.begin()
  return transfer
}

class FaultedTransfer implements Transfer {
  readonly #services: Services
  readonly #faults: ExchangeFaults
  readonly #request: Outgoing
  readonly #outlet: Outlet
  #transfer: Transfer | undefined
  #faulted: FaultedSink | undefined
  /** True when no more data of the upstream is needed. */
  #dropped = false

  constructor(services: Services, faults: ExchangeFaults, request: Outgoing, sink: ResponseSink) {
    this.#services = services
    this.#faults = faults
    this.#request = request
    this.#outlet = new Outlet(sink, faults)
  }

  begin(): void {
    if (this.#faults.actsOnRequest) {
      void this.#decide().catch((error: unknown) => this.#outlet.fail(internalFailure(error)))
      return
    }
    try {
      this.#forward(this.#request.head, this.#request.body, [])
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
    const texts = new CallTexts(this.#request.head, this.#request.body, maxBody)
    const outcome = await this.#faults.request(texts)
    if (this.#outlet.ended) return
    const marked = this.#faults.hasMarkers
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
      upstream: this.#services.alone,
      texts,
      memory,
      closing,
      onError: (error: unknown) => listener.failed({ rule: '', fault: '', call: undefined }, error),
    }
    for (const { owner, text } of copied) {
      const isInSession = this.#faults.options.session !== ''
      for (const order of owner.copies?.take(isInSession) ?? [])
        void sendCopies({ text, order, owner }, options)
    }
    for (const text of repeated) sendAlone(texts.alone(text, []), options)
  }

  #forward(head: RequestHead, body: Body, replies: readonly Reply[]): void {
    const { closing, memory } = this.#faults.options
    const { entries, barriers } = this.#request
    const { inner, alone: upstream } = this.#services
    const control = {
      resume: () => this.#transfer?.resume(),
      drop: () => this.#drop(),
      post: (text: string) =>
        sendAlone(postOf(this.#request.head, text), { upstream, closing, memory }),
    }
    this.#faulted = new FaultedSink(this.#faults, this.#outlet, replies, control)
    this.#faults.forwarded()
    const transfer = inner.send({ head, body, entries, barriers }, this.#faulted)
    this.#transfer = transfer
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
    if (this.#faults.options.session !== '') {
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
      if (!own.fate.isElsewhere) own.response = head
      // With responses on another connection this response only accepts the calls.
      if (faults.shared && !own.fate.isElsewhere) own.leaveOutput('shared_exchange')
    }
    if (faults.outputs.length > 0) {
      this.#outlet.addStage({
        onDrain: () => this.#onDrain(),
        done: (upstreamHasEnded) => {
          if (!upstreamHasEnded) this.#upstream.drop()
          this.stop()
        },
      })
    }
    const isPlanned = faults.options.messagePlanner !== undefined
    const isRead =
      faults.actsOnResponse || (isPlanned && (isStream(head) || mayAskForInput(faults)))
    if (!isRead && this.#replies.length === 0) {
      return new UnreadResponse(context)
    }
    if (!isStream(head) || faults.options.request.method === 'HEAD')
      return new BodyResponse(context)
    if (coding !== 'unknown') return new SseResponse(context)
    const alone = !faults.shared && this.#replies.length === 0
    if (alone && faults.all.some((each) => each.mayReplace)) return new BodyResponse(context)
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
