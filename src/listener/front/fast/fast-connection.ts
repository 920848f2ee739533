import type { Socket } from 'node:net'
import { factsOf } from '../../../mcp/request-facts.ts'
import { RequestReader } from '../../../http/fast/request-reader.ts'
import type { Rejection } from '../../rejection.ts'
import { type ClientConnection, MOST_OPEN } from '../client-connection.ts'
import type { Cut } from '../../exchange.ts'
import type { FastResponse, ResponseOutput, ResponseTexts } from './fast-response.ts'
import { FastExchange } from './fast-exchange.ts'
import { type InputTaker, PacedInput } from '../paced-input.ts'
import { cutSocket } from '../cut-socket.ts'
import type { FrontOptions } from '../front-options.ts'
import { INVALID, TOO_LATE } from '../unreadable-request.ts'

/** Handles the requests of a fast connection, and takes connections over that are not plain. */
export interface FastConnectionOwner {
  /** Larger requests take the standard path. */
  readonly limits: FrontOptions
  readonly texts: ResponseTexts
  begin(exchange: FastExchange): void
  /** Continues on the standard path with these bytes. */
  handOver(socket: Socket, connection: ClientConnection, bytes: Buffer): void
  reject(socket: Socket, rejection: Rejection): void
}

/** Reads plain requests from one client connection, until a request is not plain. */
export class FastClientConnection implements InputTaker {
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
    this.#requests = new RequestReader(owner.limits.maxHeaderSize)
    this.#queue = new ResponseQueue(socket, owner.texts)
    connection.input = new PacedInput(socket, connection, this)
    socket.on('data', this.#onData).on('end', this.#onEnd)
    socket.on('error', this.#onError).on('drain', this.#onDrain)
  }

  /** Ends a connection that has been idle for too long. Called once a second. */
  sweep(now: number): void {
    if (this.#connection.oldest !== undefined || this.#queue.size > 0) return
    if (this.#idleSince === 0) {
      this.#idleSince = now
      this.#requests.forget()
      return
    }
    const idle = now - this.#idleSince
    const { headerTimeout, clientKeepalive } = this.#owner.limits
    if (this.#fresh && idle > headerTimeout) {
      this.#owner.reject(this.#socket, TOO_LATE)
    } else if (!this.#fresh && idle > clientKeepalive) {
      this.#socket.destroy()
    }
  }

  mayTake(): boolean {
    if (this.#connection.closing || this.#arriving !== undefined) return true
    return this.#isForStandard ? this.#queue.size === 0 : this.#queue.size < MOST_OPEN
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
    else this.#owner.reject(this.#socket, INVALID)
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
    const exchange = new FastExchange(requests, body, this.#socket, this.#connection, this.#queue)
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
    if (this.#queue.size > 0) return 0
    const socket = this.#socket
    socket.off('data', this.#onData).off('end', this.#onEnd)
    socket.off('error', this.#onError).off('drain', this.#onDrain)
    const behind = this.#connection.input!.release()
    const all = behind.length === 0 ? bytes : Buffer.concat([bytes, behind])
    this.#owner.handOver(socket, this.#connection, all)
    return bytes.length
  }
}

/** The pieces of a response that waits for earlier ones. */
interface Waiting {
  readonly pieces: [text: string, piece: Uint8Array | undefined][]
  size: number
  done: boolean
  /** The end of the connection after this response, if any. */
  ending: Cut | undefined
}

/** The bytes of a waiting response, beyond which it is paused. */
const ENOUGH = 16 * 1024

/** Writes the responses of one connection in the order of their requests. */
class ResponseQueue implements ResponseOutput {
  readonly texts: ResponseTexts
  /** The number of open responses. */
  size = 0
  readonly #socket: Socket
  /** The response that is being written; later ones are linked to it. */
  #current: FastResponse | undefined
  #newest: FastResponse | undefined
  #waiting: Map<FastResponse, Waiting> | undefined

  constructor(socket: Socket, texts: ResponseTexts) {
    this.#socket = socket
    this.texts = texts
  }

  /** True when a response has begun on the socket. */
  get writing(): boolean {
    return this.#current?.started === true
  }

  /** Adds the next response. */
  add(response: FastResponse): void {
    this.size++
    if (this.#current === undefined) this.#current = response
    else this.#newest!.next = response
    this.#newest = response
  }

  write(response: FastResponse, text: string, piece?: Uint8Array): boolean {
    if (response === this.#current) return this.#send(text, piece)
    const waiting = this.#waitingFor(response)
    waiting.pieces.push([text, piece])
    waiting.size += text.length + (piece?.length ?? 0)
    return waiting.size < ENOUGH
  }

  done(response: FastResponse, ending: Cut | undefined): void {
    if (response === this.#current) {
      this.#finish(response, ending)
      return
    }
    const waiting = this.#waitingFor(response)
    waiting.done = true
    waiting.ending = ending
  }

  endBehind(response: FastResponse): void {
    const waiting = this.#waiting?.get(response)
    if (waiting === undefined) cutSocket(this.#socket, 'fin')
    else waiting.ending ??= 'fin'
  }

  /** Reports that the socket accepts data again. */
  drained(): void {
    this.#current?.drained()
  }

  #finish(response: FastResponse, ending: Cut | undefined): void {
    this.size--
    const { next } = response
    response.next = undefined
    this.#current = next
    if (next === undefined) this.#newest = undefined
    if (ending !== undefined) cutSocket(this.#socket, ending)
    else if (next !== undefined) this.#start(next)
  }

  #start(response: FastResponse): void {
    const waiting = this.#waiting?.get(response)
    if (waiting === undefined) return
    this.#waiting!.delete(response)
    for (const [text, piece] of waiting.pieces) this.#send(text, piece)
    if (waiting.done) this.#finish(response, waiting.ending)
    else if (waiting.size >= ENOUGH && !this.#socket.writableNeedDrain) {
      // Deferred, because a parser may still be reading the response that has just ended, and
      // parsers must not be re-entered.
      process.nextTick(() => response.drained())
    }
  }

  #waitingFor(response: FastResponse): Waiting {
    this.#waiting ??= new Map()
    let waiting = this.#waiting.get(response)
    if (waiting === undefined) {
      waiting = { pieces: [], size: 0, done: false, ending: undefined }
      this.#waiting.set(response, waiting)
    }
    return waiting
  }

  #send(text: string, piece: Uint8Array | undefined): boolean {
    const socket = this.#socket
    // The client has ended the connection.
    if (!socket.writable) return true
    if (piece === undefined) return socket.write(text, 'latin1')
    // One system call takes both.
    if (text !== '') {
      socket.cork()
      socket.write(text, 'latin1')
    }
    const more = socket.write(piece)
    if (text !== '') socket.uncork()
    // The kernel may have taken all of a piece above the limit of the stream.
    return more || socket.writableLength === 0
  }
}
