import { type HeaderLines, type ResponseHead, headerValue } from '../../../http/headers.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import type { ExchangeFaults } from '../exchange-faults.ts'
import type { Reply } from '../../../mcp/reply.ts'
import { codingOf } from '../../../http/content-coding.ts'
import type { Outlet } from '../emit/outlet.ts'
import type { AppControl, ResponseContext, ResponsePart } from './response-part.ts'
import { BodyResponse } from './body-response.ts'
import { isStream } from './body-messages.ts'
import { mayAskForInput } from './input-requests.ts'
import { SseResponse } from './sse-response.ts'

/** Pipes the app's response through the faults to the client. */
export class FaultedSink implements ResponseSink {
  readonly #faults: ExchangeFaults
  readonly #outlet: Outlet
  readonly #replies: readonly Reply[]
  readonly #app: AppControl
  #part: ResponsePart | undefined

  constructor(faults: ExchangeFaults, outlet: Outlet, replies: readonly Reply[], app: AppControl) {
    this.#faults = faults
    this.#outlet = outlet
    this.#replies = replies
    this.#app = app
  }

  info(head: ResponseHead): void {
    this.#outlet.info(head)
  }

  head(head: ResponseHead): void {
    if (this.#outlet.ended) return
    // An app that does not know the session ignores copies, too.
    if (this.#faults.options.session !== '') {
      for (const own of this.#faults.posted) own.copies?.responds(head.status === 404)
    }
    this.#faults.responseBegins(head)
    this.#part = this.#partFor(head)
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

  #partFor(head: ResponseHead): ResponsePart {
    const faults = this.#faults
    const coding = codingOf(headerValue(head.headers, 'content-encoding'))
    const context: ResponseContext = {
      faults,
      outlet: this.#outlet,
      head,
      coding,
      replies: this.#replies,
      app: this.#app,
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
        done: (appHasEnded) => {
          if (!appHasEnded) this.#app.drop()
          this.stop()
        },
      })
    }
    const hasMessages = faults.options.messagePlanner !== undefined && isStream(head)
    const isRead = faults.actsOnResponse || hasMessages || mayAskForInput(faults)
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
    context.outlet.head(context.head)
  }

  data(chunk: Uint8Array): boolean {
    return this.#context.outlet.data(chunk)
  }

  end(trailers: HeaderLines): void {
    const { outlet, faults } = this.#context
    // The time of the HTTP faults is not the app's.
    if (outlet.stage !== undefined) faults.options.onResponded?.(undefined)
    outlet.end(trailers)
  }

  fail(failure: Failure): void {
    this.#context.outlet.fail(failure)
  }

  resume(): void {
    this.#context.app.resume()
  }

  stop(): void {
    // Nothing is held.
  }
}
