import type { HeaderLines, ResponseHead } from '../../mcp/http.ts'
import type { Failure, ResponseSink } from '../../mcp/transfer.ts'
import type { FaultRun } from './fault-run.ts'
import { withMarks } from './fault-mark.ts'

/** The way out to the client: marks heads, waits for a slow client, and ends the run with the answer. */
export class Outlet {
  started = false
  over = false
  readonly #sink: ResponseSink
  readonly #run: FaultRun
  #blocked = false
  #waiting: (() => void)[] = []

  constructor(sink: ResponseSink, run: FaultRun) {
    this.#sink = sink
    this.#run = run
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
    this.#sink.head({ ...head, headers: withMarks(head.headers, this.#run.takeMarks()) })
  }

  /** False asks for a pause until `resume`. */
  data(bytes: Uint8Array): boolean {
    if (this.over || bytes.length === 0) return true
    if (this.#sink.data(bytes)) return true
    this.#blocked = true
    return false
  }

  end(trailers: HeaderLines): void {
    if (!this.#close()) return
    this.#sink.end(trailers)
  }

  fail(failure: Failure): void {
    if (!this.#close()) return
    this.#sink.fail(failure)
  }

  /** Ends the client's connection. */
  cut(how: 'rst' | 'fin'): void {
    const kind = how === 'rst' ? 'reset' : 'closed'
    this.fail({ kind, message: 'a fault cut the answer' })
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
    this.#close()
  }

  #close(): boolean {
    if (this.over) return false
    this.over = true
    this.#run.finish()
    this.resume()
    return true
  }
}
