import { headerValue, type HeaderLines, type ResponseHead } from '../../../http/headers.ts'
import type { Reply } from '../../../mcp/reply.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import { codingOf } from '../../../http/content-coding.ts'
import type { ResponsePart, ResponseSetting } from './response-part.ts'
import { BodyResponse } from './body-response.ts'
import { isStream } from './body-messages.ts'
import type { FaultRun } from '../fault-run.ts'
import type { Outlet } from '../emit/outlet.ts'
import { UnreadResponse } from './unread-response.ts'
import { SseResponse } from './sse-response.ts'

/** What the sink asks of the transfer that fills it. */
export interface AppControl {
  resume(): void
  drop(): void
}

/** Takes the app's response, leads it through the faults, and passes on what the client is to get. */
export class FaultedSink implements ResponseSink {
  readonly #run: FaultRun
  readonly #outlet: Outlet
  readonly #replies: readonly Reply[]
  readonly #app: AppControl
  #part: ResponsePart | undefined

  constructor(run: FaultRun, outlet: Outlet, replies: readonly Reply[], app: AppControl) {
    this.#run = run
    this.#outlet = outlet
    this.#replies = replies
    this.#app = app
  }

  info(head: ResponseHead): void {
    this.#outlet.info(head)
  }

  head(head: ResponseHead): void {
    if (this.#outlet.over) return
    // As the app says, so that it does nothing for copies either.
    if (this.#run.options.session !== '') {
      for (const own of this.#run.calls) own.copies.hear(head.status === 404)
    }
    this.#run.responseBegins(head)
    this.#part = this.#partFor(head)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#outlet.over || this.#part === undefined) return true
    return this.#part.data(chunk)
  }

  end(trailers: HeaderLines): void {
    if (!this.#outlet.over) this.#part?.end(trailers)
  }

  fail(failure: Failure): void {
    if (this.#outlet.over) return
    if (this.#part === undefined) this.#outlet.fail(failure)
    else this.#part.fail(failure)
  }

  /** The client takes data again. */
  resume(): void {
    const { stage } = this.#outlet
    if (stage === undefined) this.#relieved()
    else stage.resume()
  }

  /** The client is gone. */
  stop(): void {
    this.#outlet.stop()
    this.#part?.stop()
  }

  #relieved(): void {
    this.#outlet.resume()
    this.#part?.resume()
  }

  #partFor(head: ResponseHead): ResponsePart {
    const run = this.#run
    const coding = codingOf(headerValue(head.headers, 'content-encoding'))
    const setting: ResponseSetting = {
      run,
      outlet: this.#outlet,
      head,
      coding,
      replies: this.#replies,
      resumeApp: () => this.#app.resume(),
      dropApp: () => this.#app.drop(),
    }
    if (run.passesRedirect) return new UnreadResponse(setting)
    for (const own of run.calls) {
      if (!own.elsewhere) own.response = head
      // Where calls are answered elsewhere, this says no more than that they were taken.
      if (run.shared && !own.elsewhere) own.leaveOutput('shared_exchange')
    }
    if (run.outputs.length > 0) {
      this.#outlet.lead({
        relieved: () => this.#relieved(),
        done: (appHasEnded) => {
          if (!appHasEnded) this.#app.drop()
          this.stop()
        },
      })
    }
    if (!run.actsOnResponse && this.#replies.length === 0) return new UnreadResponse(setting)
    if (!isStream(head) || run.options.request.method === 'HEAD') return new BodyResponse(setting)
    if (coding !== 'unknown') return new SseResponse(setting)
    const alone = !run.shared && this.#replies.length === 0
    if (alone && run.all.some((each) => each.mayReplace)) return new BodyResponse(setting)
    run.leaveResponse('unreadable')
    return new UnreadResponse(setting)
  }
}
