import type { RequestHead } from '../../mcp/http.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../../mcp/transfer.ts'
import { restOfBatch } from './batch-rest.ts'
import { FaultedSink } from './faulted-sink.ts'
import type { FaultRun } from './fault-run.ts'
import {
  acceptedAnswer,
  httpAnswer,
  messageAnswer,
  type InjectedAnswer,
} from './injected-answer.ts'
import { Outlet } from './outlet.ts'

/**
 * The app as one exchange meets it whose calls were hit by rules. It stands where the app stands, so
 * that whoever relays and watches the answer needs to know nothing of faults.
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
    const { request, batch, maxBody } = this.#run.options
    const outcome = await this.#run.request()
    if (this.#outlet.over) return
    if (outcome.kind === 'cut') this.#outlet.cut(outcome.how)
    else if (outcome.kind === 'http') this.#answer(httpAnswer(outcome.reply, request))
    else if (outcome.answered.size === 0) this.#forward(this.#head, this.#body, [])
    else {
      const { answered, replies } = outcome
      const rest = await restOfBatch(this.#head, this.#body, answered, maxBody)
      if (this.#outlet.over) return
      if (rest === 'empty') {
        this.#answer(
          replies.length === 0 ? acceptedAnswer(request) : messageAnswer(replies, batch, request),
        )
      } else {
        // A body that cannot be taken apart goes whole: a call too many is better than one too few.
        this.#forward(rest?.head ?? this.#head, rest?.body ?? this.#body, replies)
      }
    }
  }

  #answer({ head, bytes }: InjectedAnswer): void {
    this.#outlet.head(head)
    this.#outlet.data(bytes)
    this.#outlet.end([])
  }

  #forward(head: RequestHead, body: Body, replies: FaultedReplies): void {
    const app = { resume: () => this.#app?.resume(), drop: () => this.#drop() }
    this.#faulted = new FaultedSink(this.#run, this.#outlet, replies, app)
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

type FaultedReplies = ConstructorParameters<typeof FaultedSink>[2]
