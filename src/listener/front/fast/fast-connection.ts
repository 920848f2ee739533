import type { Socket } from 'node:net'
import { factsOf } from '../../../mcp/request-facts.ts'
import { RequestReader } from '../../../http/fast/request-reader.ts'
import type { RejectionReason } from '../../../telemetry/telemetry.ts'
import { type ClientConnection, MOST_OPEN } from '../client-connection.ts'
import type { Cut } from '../../exchange.ts'
import { ResponseQueue } from './response-queue.ts'
import type { FastResponse, ResponseOutput, ResponseTexts } from './fast-response.ts'
import { FastExchange } from './fast-exchange.ts'
import { type InputTaker, PacedInput } from '../paced-input.ts'

/** Bounds of the fast path; larger requests take the standard path. */
export interface FastLimits {
  readonly maxHeaderSize: number
  readonly maxBody: number
  readonly headerTimeout: number
  readonly clientKeepalive: number
}

/** Handles the requests of a fast connection, and takes connections over that are not plain. */
export interface FastConnectionOwner {
  readonly limits: FastLimits
  readonly texts: ResponseTexts
  begin(exchange: FastExchange): void
  /** Continues on the standard path with these bytes. */
  handOver(socket: Socket, connection: ClientConnection, bytes: Buffer): void
  reject(socket: Socket, status: number, reason: RejectionReason, message: string): void
}

/** Reads plain requests from one client connection, until a request is not plain. */
export class FastClientConnection implements ResponseOutput, InputTaker {
  readonly texts: ResponseTexts
  readonly #socket: Socket
  readonly #connection: ClientConnection
  readonly #owner: FastConnectionOwner
  readonly #requests: RequestReader
  readonly lines = Infinity
  readonly #queue: ResponseQueue
  /** The request whose body is arriving. */
  #arriving: FastExchange | undefined
  /** True when the next request is for the standard path, after the responses before it. */
  #isForStandard = false
  /**
   * The start of the idle time; 0 while a request is open, or before `sweep` has seen the idle
   * state.
   */
  #idleSince: number
  #fresh = true

  constructor(
    socket: Socket,
    connection: ClientConnection,
    owner: FastConnectionOwner,
    now: number,
  ) {
    this.#idleSince = now
    this.#socket = socket
    this.#connection = connection
    this.#owner = owner
    this.texts = owner.texts
    this.#requests = new RequestReader(owner.limits.maxHeaderSize)
    this.#queue = new ResponseQueue(socket)
    connection.input = new PacedInput(socket, connection, this)
    socket.on('data', this.#onData).on('end', this.#onEnd)
    socket.on('error', this.#onError).on('drain', this.#onDrain)
  }

  /** Ends a connection that has been idle for too long. Called once a second. */
  sweep(now: number): void {
    if (this.#connection.oldest !== undefined || !this.#queue.empty) return
    if (this.#idleSince === 0) {
      this.#idleSince = now
      this.#requests.forget()
      return
    }
    const idle = now - this.#idleSince
    const { headerTimeout, clientKeepalive } = this.#owner.limits
    if (this.#fresh && idle > headerTimeout) {
      this.#owner.reject(
        this.#socket,
        408,
        'slow_client',
        'the request headers did not arrive in time',
      )
    } else if (!this.#fresh && idle > clientKeepalive) {
      this.#socket.destroy()
    }
  }

  write(response: FastResponse, text: string, piece?: Uint8Array): boolean {
    return this.#queue.write(response, text, piece)
  }

  done(response: FastResponse, last: boolean): void {
    this.#queue.done(response, last ? 'fin' : undefined)
  }

  cut(response: FastResponse, how: Cut): void {
    this.#queue.done(response, how)
  }

  endBehind(response: FastResponse): void {
    this.#queue.endBehind(response)
  }

  mayTake(): boolean {
    if (this.#connection.closing || this.#arriving !== undefined) return true
    return this.#isForStandard ? this.#queue.empty : this.#queue.size < MOST_OPEN
  }

  take(bytes: Buffer): number {
    if (this.#connection.closing) {
      // Only the rest of the last request is read.
      if (this.#arriving !== undefined) this.#body(this.#arriving, bytes)
      return bytes.length
    }
    this.#idleSince = 0
    this.#fresh = false
    return this.#arriving === undefined ? this.#read(bytes) : this.#body(this.#arriving, bytes)
  }

  /** Makes the socket flow; its bytes go to the input. */
  readonly #onData = (): void => undefined

  readonly #onEnd = (): void => {
    if (this.#arriving === undefined) {
      this.#socket.end()
      return
    }
    if (this.#queue.writing) this.#socket.destroy()
    else this.#owner.reject(this.#socket, 400, 'bad_request', 'the request is not valid HTTP/1.1')
  }

  readonly #onError = (): void => {
    this.#socket.destroy()
  }

  readonly #onDrain = (): void => {
    this.#queue.drained()
  }

  /** Reads one request; returns the offset behind it, or behind what has arrived of it. */
  #read(bytes: Buffer): number {
    const requests = this.#requests
    if (this.#isForStandard || !requests.read(bytes, 0)) return this.#handOver(bytes)
    const { head, length, size } = requests
    const end = Math.min(size + length, bytes.length)
    const whole = end - size === length
    if (length > this.#owner.limits.maxBody || (!whole && factsOf(head).kind !== 'post')) {
      return this.#handOver(bytes)
    }
    // The standard path waits for memory.
    if (!this.#connection.memory.take(length)) return this.#handOver(bytes)
    const body = bytes.subarray(size, end)
    const exchange = new FastExchange(requests, body, this.#socket, this.#connection, this)
    if (!whole) this.#arriving = exchange
    this.#queue.add(exchange.response)
    this.#owner.begin(exchange)
    return end
  }

  /** Passes on bytes of a body; returns the offset behind them. */
  #body({ body }: FastExchange, chunk: Buffer): number {
    const end = Math.min(body.missing, chunk.length)
    if (body.missing === end) this.#arriving = undefined
    body.push(end === chunk.length ? chunk : chunk.subarray(0, end))
    return end
  }

  /** Hands bytes over to the standard path, after the responses to the requests before them. */
  #handOver(bytes: Buffer): number {
    this.#isForStandard = true
    if (!this.#queue.empty) return 0
    const socket = this.#socket
    socket.off('data', this.#onData).off('end', this.#onEnd)
    socket.off('error', this.#onError).off('drain', this.#onDrain)
    const behind = this.#connection.input!.release()
    const all = behind.length === 0 ? bytes : Buffer.concat([bytes, behind])
    this.#owner.handOver(socket, this.#connection, all)
    return bytes.length
  }
}
