import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import type { CallFaults } from '../call-faults.ts'
import { BrokenOff, ChunkQueue } from './chunk-queue.ts'
import { withMarkers } from '../emit/fault-marker.ts'
import type { ExchangeFaults } from '../exchange-faults.ts'
import { FramedSink } from './framed-sink.ts'
import { hasNoBody } from '../emit/injected-response.ts'
import { nextLoop, SLICE } from '../../event-loop.ts'
import { outputLayer, type OutputFlow } from './output-layer.ts'

/** Receives the events of a stage. */
export interface OutputEvents {
  /** The stage accepts data again after `data` returned false. */
  readonly onDrain: () => void
  /** The response has ended; further data of an app that has not ended is not needed. */
  readonly done: (appHasEnded: boolean) => void
}

/** Runs the faults that act on the response as HTTP (head and bytes), before the client. */
export class OutputStage {
  readonly #faults: ExchangeFaults
  readonly #sink: ResponseSink
  readonly #events: OutputEvents
  readonly #queue: ChunkQueue
  readonly #exit: FramedSink
  #started = false
  #ended = false
  #blocked = false
  #appFailed = false
  #wake: (() => void) | undefined

  constructor(faults: ExchangeFaults, sink: ResponseSink, events: OutputEvents) {
    this.#faults = faults
    this.#sink = sink
    this.#events = events
    this.#queue = new ChunkQueue(events.onDrain)
    this.#exit = new FramedSink(sink, (status) => hasNoBody(faults.options.request, status))
  }

  head(head: ResponseHead): void {
    this.#started = true
    void this.#start(head)
  }

  data(bytes: Uint8Array): boolean {
    this.#queue.push(bytes)
    return !this.#queue.behind
  }

  end(trailers: HeaderLines): void {
    this.#queue.close(trailers)
  }

  /**
   * Handles a response that the app cut: faults release what they hold, and before a close the
   * bytes are sent.
   */
  fail(failure: Failure): void {
    if (this.#ended) return
    if (!this.#started || failure.kind === 'reset') {
      this.#fail(failure)
      this.#queue.drop()
      return
    }
    this.#appFailed = true
    this.#queue.break(failure)
    this.#faults.disarm()
    this.resume()
  }

  /** Cuts the response after the bytes that precede the cut. */
  cut(failure: Failure): void {
    this.#queue.break(failure)
  }

  resume(): void {
    this.#blocked = false
    this.#wake?.()
    this.#wake = undefined
  }

  stop(): void {
    if (this.#ended) return
    this.#ended = true
    this.#queue.drop()
    this.resume()
  }

  /** Never rejects. */
  async #start(head: ResponseHead): Promise<void> {
    const { maxBody: limit, holdTimeout: timeout } = this.#faults.options
    const bound = { timeout, isExcused: () => this.#faults.all.some(({ waits }) => waits) }
    let flow: OutputFlow = { head, body: this.#queue, whole: () => true }
    try {
      for (const { owner, active } of this.#faults.outputs) {
        const changed = (): void => this.#faults.changedBy(owner)
        const endsByStatus = this.#endsByStatus(flow.head.status, owner)
        flow = await outputLayer({ active, limit, bound, changed, endsByStatus }, flow)
        if (this.#ended) return
      }
      const headers = withMarkers(flow.head.headers, this.#faults.takeHeadMarkers())
      this.#exit.head({ ...flow.head, headers })
      await this.#send(flow)
      if (!this.#ended) this.#end(flow.whole() ? this.#queue.trailers : [])
    } catch (error) {
      if (!this.#ended) this.#handleError(error)
    } finally {
      // Not awaited: a sleeping fault wakes at the end of the exchange.
      flow.body.return?.().catch(() => undefined)
    }
  }

  /**
   * Returns true when the status alone decides the outcome: the body of some error statuses may
   * decide it, too.
   */
  #endsByStatus(status: number, owner: CallFaults): boolean {
    const call = owner.call ?? this.#faults.calls[0]?.call
    return status >= 300 && !((status === 400 || status === 404) && isModern(call?.protocolVersion))
  }

  async #send({ body }: OutputFlow): Promise<void> {
    let pieces = 0
    for (let step = await body.next(); step.done !== true; step = await body.next()) {
      if (this.#ended) return
      this.#blocked = !this.#exit.data(step.value)
      if (this.#exit.full) return
      // After a failure of the app the little that is left does not wait for the client.
      if (this.#blocked && !this.#appFailed) await this.#ready()
      // A fault may split one piece into many.
      if (++pieces % SLICE === 0) await nextLoop()
      if (this.#ended) return
    }
  }

  #ready(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      if (!this.#blocked || this.#ended) this.resume()
    })
  }

  #handleError(error: unknown): void {
    if (error instanceof BrokenOff) {
      this.#fail(error.failure)
    } else if (error instanceof CutResponse) {
      const kind = error.how === 'rst' ? 'reset' : 'closed'
      this.#fail({ kind, message: 'a fault cut the response' })
    } else {
      this.#faults.options.listener.failed({ rule: '', fault: '', call: undefined }, error)
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
    this.#ended = true
    this.#faults.finish()
  }
}
