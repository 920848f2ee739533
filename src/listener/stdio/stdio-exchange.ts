import type { ChunkRun } from '../../http/chunk-run.ts'
import type { RequestHead } from '../../http/headers.ts'
import type { ClientResponse, Exchange, ExchangeListener, IncomingBody } from '../exchange.ts'
import { HeldMemory, type MemoryBudget } from '../memory-budget.ts'
import { EventLines } from './event-lines.ts'

/** The target of all requests, and so the key of the only session. */
export const TARGET = '/stdio'

const POST: RequestHead = {
  method: 'POST',
  target: TARGET,
  version: '1.1',
  headers: ['Content-Type', 'application/json', 'Accept', 'text/event-stream'],
}
const GET: RequestHead = {
  method: 'GET',
  target: TARGET,
  version: '1.1',
  headers: ['Accept', 'text/event-stream'],
}

/** A line of the client as an exchange, to which the client gets no response. */
export class LineExchange implements Exchange {
  readonly head = POST
  readonly peer = undefined
  readonly body: IncomingBody
  readonly response: ClientResponse
  listener: ExchangeListener | undefined

  /** `onRead` is called when later lines may follow, `onEnd` when nothing holds the line. */
  constructor(line: Buffer, memory: MemoryBudget, onRead: () => void, onEnd: () => void) {
    const held = new HeldMemory(memory)
    const end = (): void => {
      held.end()
      onRead()
      onEnd()
    }
    this.body = {
      kept: line,
      collect: (_limit, done) => {
        if (held.hold(line.length)) done(line)
        else done(null, 'memory')
      },
      forSending: () => {
        // By then a line that no fault holds is sent, and later lines keep behind it.
        setImmediate(onRead)
        return line
      },
    }
    this.response = new Accepted(end)
  }

  stall(): void {
    // The response has no bytes.
  }

  /** Ends the exchange because the client is gone. */
  gone(): void {
    if (this.response.ended) return
    this.response.cut('fin')
    this.listener?.gone()
  }
}

/** The response to a posted line, which the client does not see. */
class Accepted implements ClientResponse {
  ended = false
  started = false
  readonly #onEnd: () => void

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  info(): void {
    // The client sees responses of JSON-RPC alone.
  }

  head(): void {
    this.started = true
  }

  data(_chunk: Uint8Array): boolean {
    return true
  }

  chunks(run: ChunkRun): boolean {
    return run.each((chunk) => this.data(chunk))
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    this.#onEnd()
  }

  cut(): void {
    this.end()
  }

  closeAfter(): void {
    // There is no connection.
  }
}

/** The lines for the client, as the stream of a session. */
export class StreamExchange implements Exchange {
  readonly head = GET
  readonly peer = undefined
  readonly body: IncomingBody = {
    kept: undefined,
    collect: (_limit, done) => done(null),
    forSending: () => null,
  }
  readonly response: LineResponse
  listener: ExchangeListener | undefined

  constructor(write: (bytes: Uint8Array) => boolean, onEnd: () => void) {
    this.response = new LineResponse(write, onEnd)
  }

  stall(): void {
    // The only client is not cut off.
  }
}

/** Writes the events of a stream as lines. */
class LineResponse extends Accepted {
  readonly #lines = new EventLines()
  readonly #write: (bytes: Uint8Array) => boolean

  constructor(write: (bytes: Uint8Array) => boolean, onEnd: () => void) {
    super(onEnd)
    this.#write = write
  }

  override data(chunk: Uint8Array): boolean {
    let more = true
    for (const bytes of this.#lines.read(chunk)) more = this.#write(bytes)
    return more
  }
}
