import type { RequestHead } from '../../../http/headers.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../../../http/transfer.ts'
import { type CopiedCall, sendAlone, sendCopies } from '../request/copies.ts'
import { heavyWork } from '../../event-loop.ts'
import { CallTexts, postOf } from '../request/call-texts.ts'
import type { Reply } from '../../../mcp/reply.ts'
import { FaultedSink } from './faulted-sink.ts'
import type { ExchangeFaults } from '../exchange-faults.ts'
import { emptyResponse, httpResponse, messageResponse } from '../emit/injected-response.ts'
import { Outlet } from '../emit/outlet.ts'
import type { PushStream } from './push-stream.ts'

/**
 * Wraps the upstream with the faults of one exchange, so that relay and observers need not know
 * about faults.
 */
export function faultedUpstream(app: Upstream, faults: ExchangeFaults): Upstream {
  return {
    send(head, body, sink) {
      const transfer = new FaultedTransfer(app, faults, head, body, sink)
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
  #app: Transfer | undefined
  #faulted: FaultedSink | undefined
  /** True when no more data of the app is needed. */
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
    const marked = this.#faults.hasMarkers
    if (outcome.kind === 'cut') this.#outlet.cut(outcome.how)
    else if (outcome.kind === 'http')
      this.#outlet.whole(httpResponse(outcome.reply, request, marked))
    else {
      const { responded, replies, repeated } = outcome
      // A single message that is answered, or did not change, needs not be read again.
      const unread = responded.length === 0 ? texts.unread : undefined
      const isAnswered = !batch && responded.length > 0
      const sent = isAnswered ? 'empty' : (unread ?? (await texts.sent(responded)))
      const isCopied = this.#faults.posted.some(({ copies }) => copies?.isWanted === true)
      const copied = isCopied ? await this.#readCopied(texts, responded) : []
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

  /** Returns the calls with ordered copies, as they are sent. */
  async #readCopied(texts: CallTexts, responded: readonly number[]): Promise<readonly Copied[]> {
    const copied: Copied[] = []
    for (const [index, owner] of this.#faults.posted.entries()) {
      if (owner.copies?.isWanted !== true || responded.includes(index)) continue
      const text = await texts.text(index)
      if (text !== undefined) copied.push({ owner, text })
    }
    return copied
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
      const isInSession = this.#faults.options.session !== ''
      for (const order of owner.copies?.take(isInSession) ?? [])
        void sendCopies({ text, order, owner }, options)
    }
    for (const text of repeated) sendAlone(texts.alone(text, []), options)
  }

  #forward(head: RequestHead, body: Body, replies: readonly Reply[]): void {
    const { closing, memory } = this.#faults.options
    const app = {
      resume: () => this.#app?.resume(),
      drop: () => this.#drop(),
      post: (text: string) =>
        sendAlone(postOf(this.#head, text), { upstream: this.#upstream, closing, memory }),
    }
    this.#faulted = new FaultedSink(this.#faults, this.#outlet, replies, app)
    this.#faults.forwarded()
    const transfer = this.#upstream.send(head, body, this.#faulted)
    this.#app = transfer
    this.#faults.options.onSent?.()
    if (this.#dropped) transfer.abort()
  }

  #drop(): void {
    if (this.#dropped) return
    this.#dropped = true
    this.#app?.abort()
  }
}

type Copied = Omit<CopiedCall, 'order'>

/** Wraps the upstream of a GET stream, so that its events pass a `PushStream`. */
export function pushUpstream(app: Upstream, stream: PushStream): Upstream {
  return {
    send(head, body, sink) {
      stream.setSink(sink)
      stream.setPost((text, target) =>
        sendAlone(postOf(head, text, target), { upstream: app, closing: undefined }),
      )
      stream.attach(app.send(head, body, stream))
      return stream
    },
  }
}
