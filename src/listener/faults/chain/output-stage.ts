import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import type { CallRun } from '../call-run.ts'
import { BrokenOff, ChunkQueue } from './chunk-queue.ts'
import { withMarks } from '../emit/fault-marker.ts'
import type { FaultRun } from '../fault-run.ts'
import { FramedExit } from './framed-exit.ts'
import { hasNoBody } from '../emit/injected-response.ts'
import { nextLoop, SLICE } from '../../event-loop.ts'
import { outputLayer, type OutputFlow } from './output-layer.ts'

/** What a stage tells whoever fills it. */
export interface OutputEvents {
  /** There is room again after `data` answered false. */
  readonly relieved: () => void
  /** The client has all that it gets: what an app that has not ended still sends is not wanted. */
  readonly done: (appHasEnded: boolean) => void
}

/** The last part of a response's way out: its faults take it as HTTP, head and bytes. */
export class OutputStage {
  readonly #run: FaultRun
  readonly #sink: ResponseSink
  readonly #events: OutputEvents
  readonly #queue: ChunkQueue
  readonly #exit: FramedExit
  #started = false
  #over = false
  #blocked = false
  #appFailed = false
  #wake: (() => void) | undefined

  constructor(run: FaultRun, sink: ResponseSink, events: OutputEvents) {
    this.#run = run
    this.#sink = sink
    this.#events = events
    this.#queue = new ChunkQueue(events.relieved)
    this.#exit = new FramedExit(sink, (status) => hasNoBody(run.options.request, status))
  }

  head(head: ResponseHead): void {
    this.#started = true
    void this.#lead(head)
  }

  /** False asks for a pause. */
  data(bytes: Uint8Array): boolean {
    this.#queue.push(bytes)
    return !this.#queue.behind
  }

  end(trailers: HeaderLines): void {
    this.#queue.close(trailers)
  }

  /** The app broke off: faults hold nothing back any more, and before a close what came before goes out. */
  fail(failure: Failure): void {
    if (this.#over) return
    if (!this.#started || failure.kind === 'reset') {
      this.#fail(failure)
      this.#queue.drop()
      return
    }
    this.#appFailed = true
    this.#queue.break(failure)
    this.#run.disarm()
    this.resume()
  }

  /** A fault before this stage cut the response: what came before it goes out as it would have. */
  cut(failure: Failure): void {
    this.#queue.break(failure)
  }

  /** The client takes more. */
  resume(): void {
    this.#blocked = false
    this.#wake?.()
    this.#wake = undefined
  }

  /** The client is gone. */
  stop(): void {
    if (this.#over) return
    this.#over = true
    this.#queue.drop()
    this.resume()
  }

  /** Never rejects. */
  async #lead(head: ResponseHead): Promise<void> {
    const { maxBody: limit, holdTimeout: timeout } = this.#run.options
    const bound = { timeout, isExcused: () => this.#run.all.some(({ waits }) => waits) }
    let flow: OutputFlow = { head, body: this.#queue, whole: () => true }
    try {
      for (const { owner, turn } of this.#run.outputs) {
        const changed = (): void => this.#run.changedBy(owner)
        const endsByStatus = this.#endsByStatus(flow.head.status, owner)
        flow = await outputLayer({ turn, limit, bound, changed, endsByStatus }, flow)
        if (this.#over) return
      }
      const headers = withMarks(flow.head.headers, this.#run.takeHeadMarks())
      this.#exit.head({ ...flow.head, headers })
      await this.#send(flow)
      if (!this.#over) this.#end(flow.whole() ? this.#queue.trailers : [])
    } catch (error) {
      if (!this.#over) this.#broke(error)
    } finally {
      // Not waited for: what a fault still holds wakes up with the end of the exchange.
      flow.body.return?.().catch(() => undefined)
    }
  }

  /** Where an error's body may say more than its status, it is not known here what it says. */
  #endsByStatus(status: number, owner: CallRun): boolean {
    const call = owner.call ?? this.#run.calls[0]?.call
    return status >= 300 && !((status === 400 || status === 404) && isModern(call?.protocolVersion))
  }

  async #send({ body }: OutputFlow): Promise<void> {
    let pieces = 0
    for (let step = await body.next(); step.done !== true; step = await body.next()) {
      if (this.#over) return
      this.#blocked = !this.#exit.data(step.value)
      if (this.#exit.full) return
      // Nobody waits for a client with an app that is gone: what is left is little.
      if (this.#blocked && !this.#appFailed) await this.#ready()
      // A fault may make many pieces of one.
      if (++pieces % SLICE === 0) await nextLoop()
      if (this.#over) return
    }
  }

  #ready(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      if (!this.#blocked || this.#over) this.resume()
    })
  }

  #broke(error: unknown): void {
    if (error instanceof BrokenOff) {
      this.#fail(error.failure)
    } else if (error instanceof CutResponse) {
      const kind = error.how === 'rst' ? 'reset' : 'closed'
      this.#fail({ kind, message: 'a fault cut the response' })
    } else {
      this.#run.options.listener.broke({ rule: '', fault: '', call: undefined }, error)
      this.#fail({ kind: 'closed', message: 'a response could not be taken through its faults' })
    }
  }

  #end(trailers: HeaderLines): void {
    this.#close()
    this.#exit.end(trailers)
    this.#events.done(this.#queue.closed)
  }

  #fail(failure: Failure): void {
    this.#close()
    this.#sink.fail(failure)
    this.#events.done(this.#queue.closed)
  }

  #close(): void {
    this.#over = true
    this.#run.finish()
  }
}
