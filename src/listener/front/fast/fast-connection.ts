import type { Socket } from 'node:net'
import { factsOf } from '../../../mcp/request-facts.ts'
import { RequestReader } from '../../../http/fast/request-reader.ts'
import type { RejectionReason } from '../../../telemetry/telemetry.ts'
import { MOST_OPEN, type ClientConnection } from '../client-connection.ts'
import type { Cut } from '../../exchange.ts'
import { ResponseQueue } from './response-queue.ts'
import { readDirectly, readUsually } from './direct-reading.ts'
import type { ResponseTexts } from './response-text.ts'
import type { ResponseLine, FastResponse } from './fast-response.ts'
import { FastExchange } from './fast-exchange.ts'

/** Bounds of what is read here; anything above them goes the standard path. */
export interface FastLimits {
  readonly maxHeaderSize: number
  readonly maxBody: number
  readonly headerTimeout: number
  readonly clientKeepalive: number
}

/** Who gives connections here, and takes them over when they turn out other than plain. */
export interface FastHost {
  readonly limits: FastLimits
  readonly texts: ResponseTexts
  begin(exchange: FastExchange): void
  /** The standard path goes on with these bytes, which were read and not understood. */
  handOver(socket: Socket, connection: ClientConnection, bytes: Buffer): void
  bad(socket: Socket, status: number, reason: RejectionReason, message: string): void
}

/** Bytes that are kept for another reader; beyond them the client has to wait. */
const MOST_ASIDE = 64 * 1024

/** Reads plain requests from one client connection, until one comes that is not plain. */
export class FastClientConnection implements ResponseLine {
  readonly texts: ResponseTexts
  readonly #socket: Socket
  readonly #connection: ClientConnection
  readonly #host: FastHost
  readonly #requests: RequestReader
  readonly #queue: ResponseQueue
  /** The request whose body is still arriving. */
  #arriving: FastExchange | undefined
  /** What must wait until all that came before it is answered, as it will not be read here. */
  #rest: Buffer | undefined
  /** Since when nothing is under way; 0 while something is, or when nobody has looked. */
  #idleSince: number
  #fresh = true

  constructor(socket: Socket, connection: ClientConnection, host: FastHost, now: number) {
    this.#idleSince = now
    this.#socket = socket
    this.#connection = connection
    this.#host = host
    this.texts = host.texts
    this.#requests = new RequestReader(host.limits.maxHeaderSize)
    this.#queue = new ResponseQueue(socket)
    socket.on('data', this.#onData).on('end', this.#onEnd)
    readDirectly(socket, this.#onData)
    socket.on('error', this.#onError).on('drain', this.#onDrain)
  }

  /** Once a second: ends a connection on which nothing happens for too long. */
  sweep(now: number): void {
    if (this.#connection.oldest !== undefined || !this.#queue.empty) return
    if (this.#idleSince === 0) {
      this.#idleSince = now
      this.#requests.forget()
      return
    }
    const idle = now - this.#idleSince
    const { headerTimeout, clientKeepalive } = this.#host.limits
    if (this.#fresh && idle > headerTimeout) {
      this.#host.bad(this.#socket, 408, 'slow_client', 'the request head did not arrive in time')
    } else if (!this.#fresh && idle > clientKeepalive) {
      this.#socket.destroy()
    }
  }

  write(response: FastResponse, piece: string | Uint8Array): boolean {
    return this.#queue.write(response, piece)
  }

  done(response: FastResponse, last: boolean): void {
    this.#queue.done(response, last ? 'fin' : undefined)
    this.#goOn()
  }

  cut(response: FastResponse, how: Cut): void {
    this.#queue.done(response, how)
  }

  endBehind(response: FastResponse): void {
    this.#queue.endBehind(response)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#connection.closing) {
      // The request that ends the connection is read to its end, and nothing behind it.
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
    else this.#host.bad(this.#socket, 400, 'bad_request', 'the request is not valid HTTP/1.1')
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
      if (length > this.#host.limits.maxBody || (!whole && factsOf(head).kind !== 'post')) {
        this.#setAside(at === 0 ? chunk : chunk.subarray(at))
        return
      }
      if (!this.#connection.memory.take(length)) {
        // There, a request waits for room.
        this.#setAside(at === 0 ? chunk : chunk.subarray(at))
        return
      }
      const body = chunk.subarray(start, end)
      const exchange = new FastExchange(head, body, length, this.#socket, this.#connection, this)
      if (!whole) this.#arriving = exchange
      this.#queue.add(exchange.response)
      this.#host.begin(exchange)
      at = end
    }
  }

  #mayRead(): boolean {
    return this.#rest === undefined && this.#queue.size < MOST_OPEN
  }

  /** The body of a request goes on; the place behind it. */
  #body(exchange: FastExchange, chunk: Buffer): number {
    const end = Math.min(exchange.missing, chunk.length)
    if (exchange.missing === end) this.#arriving = undefined
    exchange.push(end === chunk.length ? chunk : chunk.subarray(0, end))
    return end
  }

  /** Keeps bytes that are not read here, or not now, until what came before them is answered. */
  #setAside(bytes: Buffer): void {
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    // Read on as far as can be, as a client that leaves is only seen by who reads.
    if (this.#rest.length > MOST_ASIDE) this.#socket.pause()
    this.#goOn()
  }

  #goOn(): void {
    const rest = this.#rest
    if (rest === undefined || !this.#queue.empty || this.#connection.closing) return
    this.#rest = undefined
    const socket = this.#socket
    socket.pause()
    readUsually(socket)
    socket.off('data', this.#onData).off('end', this.#onEnd)
    socket.off('error', this.#onError).off('drain', this.#onDrain)
    this.#host.handOver(socket, this.#connection, rest)
  }
}
