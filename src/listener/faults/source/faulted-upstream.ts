import type { RequestHead } from '../../../http/headers.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../../../http/transfer.ts'
import { sendCopies, type CopiedCall } from '../request/call-copies.ts'
import { heavyWork } from '../../event-loop.ts'
import { CallTexts } from '../request/call-texts.ts'
import type { CallRun } from '../call-run.ts'
import { FaultedSink } from './faulted-sink.ts'
import type { FaultRun } from '../fault-run.ts'
import {
  emptyResponse,
  httpResponse,
  messageResponse,
  type InjectedResponse,
} from '../emit/injected-response.ts'
import { Outlet } from '../emit/outlet.ts'

/**
 * The app as one exchange meets it whose calls were hit by rules. It stands where the app stands, so
 * that whoever relays and watches the response needs to know nothing of faults.
 */
export class FaultedUpstream implements Upstream {
  readonly #app: Upstream
  readonly #run: FaultRun

  constructor(app: Upstream, run: FaultRun) {
    this.#app = app
    this.#run = run
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const transfer = new FaultedTransfer(this.#app, this.#run, head, body, sink)
    transfer.begin()
    return transfer
  }
}

class FaultedTransfer implements Transfer {
  readonly #upstream: Upstream
  readonly #run: FaultRun
  readonly #head: RequestHead
  readonly #body: Body
  readonly #outlet: Outlet
  #app: Transfer | undefined
  #faulted: FaultedSink | undefined
  /** Nothing more is wanted of the app. */
  #dropped = false

  constructor(
    upstream: Upstream,
    run: FaultRun,
    head: RequestHead,
    body: Body,
    sink: ResponseSink,
  ) {
    this.#upstream = upstream
    this.#run = run
    this.#head = head
    this.#body = body
    this.#outlet = new Outlet(sink, run)
  }

  begin(): void {
    if (this.#run.actsOnRequest) {
      void this.#decide().catch((error: unknown) => {
        const message = (error as Error).message
        this.#outlet.fail({ kind: 'protocol', message })
      })
      return
    }
    try {
      this.#forward(this.#head, this.#body, [])
    } catch (error) {
      this.#run.finish()
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
    const { request, batch, maxBody, weight = 0 } = this.#run.options
    // Reading the call took time, and so may what faults do with it.
    await heavyWork.wait(weight)
    const texts = new CallTexts(this.#head, this.#body, maxBody)
    const outcome = await this.#run.request(texts)
    if (this.#outlet.over) return
    const { marked } = this.#run
    if (outcome.kind === 'cut') this.#outlet.cut(outcome.how)
    else if (outcome.kind === 'http') this.#response(httpResponse(outcome.reply, request, marked))
    else {
      const { responded, replies } = outcome
      const sent = await texts.sent(responded)
      const copied = await this.#copied(texts, responded)
      if (this.#outlet.over) return
      if (sent === 'empty') {
        this.#response(
          replies.length === 0
            ? emptyResponse(this.#run.calls[0]?.call, request, marked)
            : messageResponse(replies, batch, request, marked),
        )
      } else {
        this.#forward(sent.head, sent.body, replies)
        this.#copy(copied, texts)
      }
    }
  }

  /** The calls of which copies are wanted, as they are sent. */
  async #copied(texts: CallTexts, responded: ReadonlySet<number>): Promise<readonly Copied[]> {
    const copied: Copied[] = []
    for (const [place, owner] of this.#run.calls.entries()) {
      if (!owner.copies.isWanted || responded.has(place)) continue
      const text = await texts.text(place)
      if (text !== undefined) copied.push({ owner, text })
    }
    return copied
  }

  #copy(copied: readonly Copied[], texts: CallTexts): void {
    const { closing, listener, memory } = this.#run.options
    const setting = {
      upstream: this.#upstream,
      texts,
      memory,
      closing,
      broke: (error: unknown) => listener.broke({ rule: '', fault: '', call: undefined }, error),
    }
    for (const { owner, text } of copied) {
      const isInSession = this.#run.options.session !== ''
      for (const order of owner.copies.take(isInSession))
        void sendCopies({ text, order, owner }, setting)
    }
  }

  #response({ head, bytes }: InjectedResponse): void {
    this.#outlet.head(head)
    this.#outlet.data(bytes)
    this.#outlet.end([])
  }

  #forward(head: RequestHead, body: Body, replies: FaultedReplies): void {
    const app = { resume: () => this.#app?.resume(), drop: () => this.#drop() }
    this.#faulted = new FaultedSink(this.#run, this.#outlet, replies, app)
    this.#run.forwarded()
    const transfer = this.#upstream.send(head, body, this.#faulted)
    this.#app = transfer
    this.#run.options.onSent?.()
    if (this.#dropped) transfer.abort()
  }

  #drop(): void {
    if (this.#dropped) return
    this.#dropped = true
    this.#app?.abort()
  }
}

interface Copied {
  readonly owner: CallRun
  readonly text: CopiedCall['text']
}

type FaultedReplies = ConstructorParameters<typeof FaultedSink>[2]
