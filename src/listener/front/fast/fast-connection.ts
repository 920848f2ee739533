import type { Socket } from 'node:net'
import { factsOf } from '../../../mcp/request-facts.ts'
import { RequestReader } from '../../../http/fast/request-reader.ts'
import type { RejectionReason } from '../../../telemetry/telemetry.ts'
import { type ClientConnection, MOST_OPEN } from '../client-connection.ts'
import type { Cut } from '../../exchange.ts'
import { ResponseQueue } from './response-queue.ts'
import type { FastResponse, ResponseOutput, ResponseTexts } from './fast-response.ts'
import { FastExchange } from './fast-exchange.ts'
import { Readable } from 'node:stream'

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

/** The bytes kept for the standard path, beyond which the socket is paused. */
const MOST_ASIDE = 64 * 1024

/** Reads plain requests from one client connection, until a request is not plain. */
export class FastClientConnection implements ResponseOutput {
  readonly texts: ResponseTexts
  readonly #socket: Socket
  readonly #connection: ClientConnection
  readonly #owner: FastConnectionOwner
  readonly #requests: RequestReader
  readonly #queue: ResponseQueue
  /** The request whose body is arriving. */
  #arriving: FastExchange | undefined
  /** The bytes for the standard path, which wait for the responses to the requests before them. */
  #rest: Buffer | undefined
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
    socket.on('data', this.#onData).on('end', this.#onEnd)
    readDirectly(socket, this.#onData)
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

  write(response: FastResponse, piece: string | Uint8Array): boolean {
    return this.#queue.write(response, piece)
  }

  done(response: FastResponse, last: boolean): void {
    this.#queue.done(response, last ? 'fin' : undefined)
    this.#handOverRest()
  }

  cut(response: FastResponse, how: Cut): void {
    this.#queue.done(response, how)
  }

  endBehind(response: FastResponse): void {
    this.#queue.endBehind(response)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#connection.closing) {
      // Only the rest of the last request is read.
      if (this.#arriving !== undefined) this.#body(this.#arriving, chunk)
      return
    }
    if (this.#rest !== undefined) {
      this.#setAside(chunk)
      return
    }
    this.#idleSince = 0
    this.#fresh = false
    this.#read(chunk, this.#arriving === undefined ? 0 : this.#body(this.#arriving, chunk))
  }

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

  #read(chunk: Buffer, from: number): void {
    const requests = this.#requests
    for (let at = from; at < chunk.length && !this.#connection.closing;) {
      if (!this.#mayRead() || !requests.read(chunk, at)) {
        this.#setAside(at === 0 ? chunk : chunk.subarray(at))
        return
      }
      const { head, length, size } = requests
      const start = at + size
      const end = Math.min(start + length, chunk.length)
      const whole = end - start === length
      if (length > this.#owner.limits.maxBody || (!whole && factsOf(head).kind !== 'post')) {
        this.#setAside(at === 0 ? chunk : chunk.subarray(at))
        return
      }
      if (!this.#connection.memory.take(length)) {
        // The standard path waits for memory.
        this.#setAside(at === 0 ? chunk : chunk.subarray(at))
        return
      }
      const body = chunk.subarray(start, end)
      const exchange = new FastExchange(head, body, length, this.#socket, this.#connection, this)
      if (!whole) this.#arriving = exchange
      this.#queue.add(exchange.response)
      this.#owner.begin(exchange)
      at = end
    }
  }

  #mayRead(): boolean {
    return this.#rest === undefined && this.#queue.size < MOST_OPEN
  }

  /** Passes on bytes of a body; returns the offset behind them. */
  #body(exchange: FastExchange, chunk: Buffer): number {
    const end = Math.min(exchange.missing, chunk.length)
    if (exchange.missing === end) this.#arriving = undefined
    exchange.push(end === chunk.length ? chunk : chunk.subarray(0, end))
    return end
  }

  /** Keeps bytes for the standard path until the requests before them have responses. */
  #setAside(bytes: Buffer): void {
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    // Reading continues up to a bound, because only reading detects that a client has left.
    if (this.#rest.length > MOST_ASIDE) this.#socket.pause()
    this.#handOverRest()
  }

  #handOverRest(): void {
    const rest = this.#rest
    if (rest === undefined || !this.#queue.empty || this.#connection.closing) return
    this.#rest = undefined
    const socket = this.#socket
    socket.pause()
    stopReadingDirectly(socket)
    socket.off('data', this.#onData).off('end', this.#onEnd)
    socket.off('error', this.#onError).off('drain', this.#onDrain)
    this.#owner.handOver(socket, this.#connection, rest)
  }
}

/**
 * Passes arriving bytes to `take` instead of the socket's stream, while the stream's buffer is
 * empty: the stream would schedule a tick for each piece. Bytes that reach the stream are emitted
 * as `data`.
 */
export function readDirectly(socket: Socket, take: (chunk: Buffer) => void): void {
  socket.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (chunk === null || socket.readableFlowing !== true || socket.readableLength > 0) {
      return Readable.prototype.push.call(socket, chunk, encoding)
    }
    take(chunk)
    return true
  }
}

/** Restores reading through the stream. */
export function stopReadingDirectly(socket: Socket): void {
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean =>
    Readable.prototype.push.call(socket, chunk, encoding)
}
