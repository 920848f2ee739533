import { CutResponse } from '../../../filters/lib/cut-response.ts'
import {
  type HeaderLines,
  type RequestHead,
  type ResponseHead,
  headerValues,
} from '../../../http/headers.ts'
import { sharesStream } from '../../../mcp/call.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'
import type { ActiveFault } from '../active-fault.ts'
import { type CallProgress, move } from '../call-state.ts'
import { NO_FAULT } from '../exchange-context.ts'
import { PieceQueue } from './frame.ts'
import { FAULT_HEADER, hasNoBody, withMarkers } from '../emit/injected-response.ts'
import { Valve } from '../../../base/valve.ts'
import { waits } from '../call-injection.ts'
import type { ExchangeFaults } from '../exchange-faults.ts'
import { SLICE, nextLoop } from '../../../base/event-loop.ts'
import { type OutputFlow, OutputLayer } from './output-layer.ts'

/** The waiting bytes beyond which the upstream is asked to pause. */
const HIGH_WATER = 64 * 1024

/** Reports that the response was cut, so that no reader sees a regular end. */
class BrokenOff extends Error {
  readonly code = 'SQUALL_BROKEN_OFF'
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** Returns the faults that act on the response as HTTP, in order. */
export function outputsOf({ exchange, shared, calls }: ExchangeFaults): readonly ActiveFault[] {
  const [call] = calls
  const isOwn = call !== undefined && !shared && !sharesStream(call.call?.transport)
  const found: ActiveFault[] = []
  for (const each of exchange.faults) if (each.transformsOutput) found.push(each)
  if (isOwn) for (const each of call.faults) if (each.transformsOutput) found.push(each)
  return found
}

/** Runs the faults that act on the response as HTTP (head and bytes), before the client. */
export class OutputStage extends Valve {
  readonly #faults: ExchangeFaults
  readonly #sink: ResponseSink
  readonly #done: (upstreamHasEnded: boolean) => void
  readonly #queue: PieceQueue<Uint8Array>
  #trailers: HeaderLines = []
  readonly #exit: FramedSink
  #started = false
  #ended = false
  #upstreamFailed = false

  /**
   * Calls `onDrain` when the stage accepts data again after `data` returned false, and `done` when
   * the response has ended.
   */
  constructor(
    faults: ExchangeFaults,
    sink: ResponseSink,
    onDrain: () => void,
    done: (upstreamHasEnded: boolean) => void,
  ) {
    super()
    this.#faults = faults
    this.#sink = sink
    this.#done = done
    this.#queue = new PieceQueue(HIGH_WATER, onDrain)
    this.#exit = new FramedSink(sink, faults.options.exchange.head)
  }

  head(head: ResponseHead, whole = false): void {
    this.#started = true
    void this.#start(head, whole)
  }

  data(bytes: Uint8Array): boolean {
    this.#queue.push(bytes)
    return !this.#queue.behind
  }

  end(trailers: HeaderLines): void {
    this.#trailers = trailers
    this.#queue.close()
  }

  /**
   * Handles a response that the upstream cut: faults release what they hold, and before a close the
   * bytes are sent.
   */
  fail(failure: Failure): void {
    if (this.#ended) return
    if (!this.#started || failure.kind === 'reset') {
      this.#fail(failure)
      this.#queue.drop()
      return
    }
    this.#upstreamFailed = true
    this.cut(failure)
    this.#faults.disarm()
    this.open()
  }

  /** Cuts the response after the bytes that precede the cut. */
  cut(failure: Failure): void {
    this.#queue.close(new BrokenOff(failure))
  }

  stop(): void {
    if (this.#ended) return
    this.#ended = true
    this.#queue.drop()
    this.open()
  }

  /** Never rejects. */
  async #start(head: ResponseHead, whole: boolean): Promise<void> {
    const { holdTimeout } = this.#faults.options.parts
    const isExcused = (): boolean => this.#faults.all.some(waits)
    let isFirst = true
    let flow: OutputFlow = { head, body: this.#queue, whole: () => true }
    try {
      const isEmpty = hasNoBody(this.#faults.options.exchange.head, head.status)
      for (const active of outputsOf(this.#faults)) {
        if (isEmpty) {
          // There is nothing to cut, slow or hold, whatever length the head declares.
          active.asked = true
          continue
        }
        const changed = (): void => this.#changedBy(active.owner)
        const endsByStatus = this.#endsByStatus(flow.head.status, active.owner)
        // The first fault waits for nothing of a whole response.
        const timeout = whole && isFirst ? undefined : holdTimeout
        const options = { active, timeout, isExcused, changed, endsByStatus }
        flow = await new OutputLayer(options, flow).start()
        isFirst = false
        if (this.#ended) return
      }
      const known = headerValues(flow.head.headers, FAULT_HEADER)
      const markers = this.#faults.all.flatMap(({ headMarkers }) => headMarkers)
      const added = markers.filter((each) => !known.includes(each))
      this.#exit.head(withMarkers(flow.head, added))
      await this.#send(flow)
      if (!this.#ended) this.#end(flow.whole() ? this.#trailers : [])
    } catch (error) {
      if (!this.#ended) this.#handleError(error)
    } finally {
      // Not awaited: a sleeping fault wakes at the end of the exchange.
      flow.body.return?.().catch(() => undefined)
    }
  }

  /** Records that a fault changed or ended the response: one of the exchange affects all calls. */
  #changedBy(owner: CallProgress): void {
    const { exchange, calls } = this.#faults
    for (const own of owner === exchange && calls.length > 0 ? calls : [owner]) move(own, 'changes')
  }

  /**
   * Returns true when the status alone decides the outcome: the body of some error statuses may
   * decide it, too.
   */
  #endsByStatus(status: number, owner: CallProgress): boolean {
    const call = owner.call ?? this.#faults.calls[0]?.call
    return status >= 300 && !((status === 400 || status === 404) && isModern(call?.protocolVersion))
  }

  async #send({ body }: OutputFlow): Promise<void> {
    let pieces = 0
    for (let step = await body.next(); step.done !== true; step = await body.next()) {
      if (this.#ended) return
      this.blocked = !this.#exit.data(step.value)
      if (this.#exit.full) return
      // After a failure of the upstream the little that is left does not wait for the client.
      const ready = this.#upstreamFailed ? undefined : this.ready()
      if (ready !== undefined) await this.#clientReads(ready)
      // A fault may split one piece into many.
      if (++pieces % SLICE === 0) await nextLoop()
      if (this.#ended) return
    }
  }

  /** Waits for the client, which may leave because of the faults that have acted so far. */
  async #clientReads(ready: Promise<void>): Promise<void> {
    const owners = outputsOf(this.#faults).flatMap(({ acted, owner }) => (acted ? owner : []))
    for (const owner of owners) owner.holders++
    await ready
    for (const owner of owners) owner.holders--
  }

  #handleError(error: unknown): void {
    if (error instanceof BrokenOff) {
      this.#fail(error.failure)
    } else if (error instanceof CutResponse) {
      const kind = error.how === 'rst' ? 'reset' : 'closed'
      this.#fail({ kind, message: 'a fault cut the response' })
    } else {
      this.#faults.options.listener.failed(NO_FAULT, error)
      this.#fail({ kind: 'closed', message: 'faults could not be applied to a response' })
    }
  }

  #end(trailers: HeaderLines): void {
    this.#close()
    this.#exit.end(trailers)
    this.#done(this.#queue.closed)
  }

  #fail(failure: Failure): void {
    this.#close()
    this.#sink.fail(failure)
    this.#done(this.#queue.closed)
  }

  #close(): void {
    this.#ended = true
    this.#faults.finish()
  }
}

const BROKEN: Failure = { kind: 'closed', message: 'a fault broke the framing of the response' }

/**
 * Sends a response whose body may contradict its head. Bytes beyond a declared length, which would
 * be read as the next response, are dropped; a body that is too short ends with the connection.
 */
export class FramedSink {
  readonly #sink: ResponseSink
  readonly #request: RequestHead
  /** The declared bytes that were not sent; undefined without a declared length. */
  #owed: number | undefined
  #broken = false
  #full = false
  #empty = false

  constructor(sink: ResponseSink, request: RequestHead) {
    this.#sink = sink
    this.#request = request
  }

  /** True when the body exceeded the declared length. */
  get full(): boolean {
    return this.#full
  }

  head(head: ResponseHead): void {
    this.#empty = hasNoBody(this.#request, head.status)
    const lengths = headerValues(head.headers, 'content-length')
    const [length] = lengths
    if (length !== undefined && !this.#empty) {
      // The client must handle lengths that contradict each other; the connection ends after them.
      if (/^\d{1,15}$/.test(length) && lengths.every((each) => each === length)) {
        this.#owed = Number(length)
      } else {
        this.#broken = true
      }
    }
    this.#sink.head(head)
  }

  data(bytes: Uint8Array): boolean {
    if (this.#empty || bytes.length === 0) return true
    const owed = this.#owed
    if (owed === undefined) return this.#sink.data(bytes)
    if (bytes.length <= owed) {
      this.#owed = owed - bytes.length
      return this.#sink.data(bytes)
    }
    this.#full = true
    this.#owed = 0
    return owed === 0 || this.#sink.data(bytes.subarray(0, owed))
  }

  end(trailers: HeaderLines): void {
    if (this.#broken || this.#full || (this.#owed ?? 0) > 0) this.#sink.fail(BROKEN)
    else this.#sink.end(trailers)
  }
}
