import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import type { FaultRun } from '../fault-run.ts'
import { withMarks } from './fault-marker.ts'
import { OutputStage, type OutputEvents } from '../chain/output-stage.ts'

/** The way out to the client: marks heads, waits for a slow client, and ends the run with the response. */
export class Outlet {
  started = false
  over = false
  readonly #sink: ResponseSink
  readonly #run: FaultRun
  #stage: OutputStage | undefined
  #blocked = false
  #waiting: (() => void)[] = []

  constructor(sink: ResponseSink, run: FaultRun) {
    this.#sink = sink
    this.#run = run
  }

  /** Where the response goes that faults take as HTTP; undefined when none does. */
  get stage(): OutputStage | undefined {
    return this.#stage
  }

  /** What the app answers goes out by a stage. Only before there is a head. */
  lead(events: OutputEvents): void {
    this.#stage = new OutputStage(this.#run, this.#sink, events)
  }

  /** A response that a fault gives ends the chain: it is for no other fault to change. */
  bypass(): void {
    if (!this.started) this.#stage = undefined
  }

  /** True while the client takes no more. */
  get blocked(): boolean {
    return this.#blocked
  }

  info(head: ResponseHead): void {
    if (!this.over) this.#sink.info(head)
  }

  head(head: ResponseHead): void {
    if (this.over) return
    this.started = true
    const headers = withMarks(head.headers, this.#run.takeMarks())
    this.#to.head({ ...head, headers })
  }

  /** False asks for a pause until `resume`. */
  data(bytes: Uint8Array): boolean {
    if (this.over || bytes.length === 0) return true
    if (this.#to.data(bytes)) return true
    this.#blocked = true
    return false
  }

  end(trailers: HeaderLines): void {
    if (!this.#close()) return
    this.#to.end(trailers)
  }

  fail(failure: Failure): void {
    if (!this.#close()) return
    this.#to.fail(failure)
  }

  /** Ends the client's connection. */
  cut(how: 'rst' | 'fin'): void {
    const kind = how === 'rst' ? 'reset' : 'closed'
    const failure: Failure = { kind, message: 'a fault cut the response' }
    if (this.#stage === undefined || !this.started) this.fail(failure)
    else if (this.#close()) this.#stage.cut(failure)
  }

  /** The client takes more. */
  resume(): void {
    this.#blocked = false
    for (const go of this.#waiting.splice(0)) go()
  }

  /** Resolves when the client takes more, or is gone; undefined when there is nothing to wait for. */
  ready(): Promise<void> | undefined {
    if (!this.#blocked || this.over) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** The client is gone. */
  stop(): void {
    this.#stage?.stop()
    this.#close()
    this.#run.finish()
  }

  get #to(): OutputStage | ResponseSink {
    return this.#stage ?? this.#sink
  }

  #close(): boolean {
    if (this.over) return false
    this.over = true
    // A stage has still to send what it was given.
    if (this.#stage === undefined) this.#run.finish()
    this.resume()
    return true
  }
}
