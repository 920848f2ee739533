import type { Socket } from 'node:net'
import { CHUNKED, ResponseReader } from '../../http/fast/response-reader.ts'
import { ChunkReader, type PieceTaker } from '../../http/fast/chunk-reader.ts'
import { afterReads } from '../../base/after-reads.ts'
import { copyOf } from '../../base/bytes.ts'
import { deferRead } from '../../base/event-loop.ts'
import type { ChunkRun } from '../../http/chunk-run.ts'
import type { Failure } from '../../http/transfer.ts'
import { ConnectError } from '../connector.ts'
import {
  type ConnectionEvents,
  type ConnectionOptions,
  type PooledConnection,
  RETIRE_BEFORE_APP,
} from '../connection-pool.ts'
import { wasReset } from '../was-reset.ts'
import { BridgedSocket } from './bridged-socket.ts'

/** Receives the response to the request on a connection. */
export interface ConnectionUser {
  head(head: ResponseReader['head'], whole: boolean): void
  data(chunk: Buffer): boolean
  chunks(run: ChunkRun): boolean
  /** Ends a complete response; `reusable` is true when the connection can carry another request. */
  end(reusable: boolean): void
  fail(failure: Failure): void
  /** Returns a request of which the upstream got no byte, because it had closed the connection. */
  unsent(text: string, body: Uint8Array | undefined): void
  /** Hands the connection to another parser; `begun` is true after the headers were delivered. */
  handOver(socket: BridgedSocket, begun: boolean): void
}

/** The most that a `keep-alive: timeout` of the upstream is trusted for. */
const LONGEST_IDLE = 600_000
const READ_SIZE = 64 * 1024

/** A longer rest of a response is read into fresh buffers, which need no copy. */
const BULK = 2 * READ_SIZE

const RESET: Failure = { kind: 'reset', message: 'the upstream reset the connection' }
const RESET_CODE = { code: 'ECONNRESET' }
const CLOSED: Failure = {
  kind: 'closed',
  message: 'the upstream closed the connection before its response was complete',
}

/** The read buffer that all connections share: kept bytes are copied before the read returns. */
const INPUT = Buffer.allocUnsafeSlow(READ_SIZE)

/** Connects to the upstream without an HTTP parser; hands responses that are not plain to one. */
export class FastConnection implements PooledConnection, PieceTaker {
  alive = true
  busy = false
  idleSince = 0
  looksFirst = false
  readonly #options: ConnectionOptions
  readonly #events: ConnectionEvents<FastConnection>
  readonly #responses: ResponseReader
  readonly #chunks = new ChunkReader()
  readonly #socket: Socket
  #user: ConnectionUser | undefined
  #ready = false
  /** The request that waits for the connection. */
  #waiting: [text: string, body: Uint8Array | undefined] | undefined
  /** The buffer of the next read. */
  #input: Buffer | undefined
  #bulk = false
  /** Remaining bytes of a body of known length, or `CHUNKED`; undefined before the headers. */
  #left: number | undefined
  paused = false
  /** The bytes of a read that came after a pause, or that wait for their share of the event loop. */
  #rest: Buffer | undefined
  #isDeferred = false
  #reset = false
  #idleLimit = Infinity
  /** A failure found on this side; reported when the connection has closed. */
  #failure: Failure | undefined
  #bridge: BridgedSocket | undefined

  constructor(options: ConnectionOptions, events: ConnectionEvents<FastConnection>) {
    this.#options = options
    this.#events = events
    this.#responses = new ResponseReader(options.maxResponseHead)
    const onread = {
      buffer: () => this.#nextInput(),
      callback: (size: number): boolean => {
        this.#read(size)
        return true
      },
    }
    this.#socket = options.connector((error, socket) => {
      if (socket === null) this.#unreachable(error ?? new ConnectError('no socket'))
      else this.#adopt(socket)
    }, onread)
  }

  isStale(now: number): boolean {
    return now >= this.idleSince + this.#idleLimit
  }

  /** Sends a request; `body` holds a body that is too large to be part of `text`. */
  send(user: ConnectionUser, text: string, body: Uint8Array | undefined): void {
    this.#user = user
    this.#left = undefined
    if (this.#ready && !this.looksFirst) {
      this.#write(text, body)
      return
    }
    this.#waiting = [text, body]
    if (this.#ready) afterReads(() => this.#sendWaiting())
  }

  resume(): void {
    if (!this.paused || this.#isDeferred) return
    this.paused = false
    this.#readRest()
    if (!this.paused) this.#socket.resume()
  }

  destroy(): void {
    this.alive = false
    this.#user = undefined
    this.#socket.destroy()
  }

  piece(bytes: Buffer, from: number, to: number): void {
    const user = this.#user
    // An earlier piece of the same read may have aborted the transfer.
    if (user === undefined) return
    // A small piece would keep the whole buffer alive.
    const isCopied = bytes === INPUT || to - from < READ_SIZE / 4
    if (!user.data(isCopied ? copyOf(bytes, from, to) : bytes.subarray(from, to))) this.#pause()
  }

  run(run: ChunkRun): void {
    const user = this.#user
    if (user !== undefined && !user.chunks(run)) this.#pause()
  }

  /** Returns the buffer of the next read; undefined keeps the current one. */
  #nextInput(): Buffer {
    const next = this.#bulk ? Buffer.allocUnsafeSlow(READ_SIZE) : INPUT
    const same = next === this.#input
    this.#input = next
    return same ? (undefined as unknown as Buffer) : next
  }

  #write(text: string, body: Uint8Array | undefined): void {
    const socket = this.#socket
    if (body === undefined) {
      socket.write(text, 'latin1')
      return
    }
    socket.cork()
    socket.write(text, 'latin1')
    socket.write(body)
    socket.uncork()
  }

  #unreachable(error: Error): void {
    this.alive = false
    const user = this.#user
    this.#user = undefined
    user?.fail({ kind: 'connect', message: error.message })
  }

  #adopt(socket: Socket): void {
    socket.on('end', () => this.#ended())
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#reset = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      this.#bridge?.disconnected(error)
    })
    socket.on('close', () => this.#closed())
    this.#ready = true
    this.#events.connected()
    this.#sendWaiting()
  }

  #sendWaiting(): void {
    const waiting = this.#waiting
    if (waiting === undefined || this.#socket.destroyed) return
    this.#waiting = undefined
    this.#write(...waiting)
  }

  #read(size: number): void {
    const input = this.#input!
    // Bytes that nobody waits for must end the connection before it gets another request.
    const isExpected = this.#user !== undefined || this.#bridge !== undefined
    if (isExpected && deferRead(size, () => this.#continue())) {
      this.#isDeferred = true
      this.#rest = copyOf(input, 0, size)
      this.#pause()
    } else this.#take(input, size)
  }

  #continue(): void {
    this.#isDeferred = false
    this.resume()
  }

  #readRest(): void {
    const rest = this.#rest
    this.#rest = undefined
    if (rest !== undefined) this.#take(rest, rest.length)
  }

  #take(input: Buffer, size: number): void {
    if (this.#bridge !== undefined) {
      if (!this.#bridge.feed(Buffer.from(input.subarray(0, size)))) this.#pause()
      return
    }
    try {
      this.#readResponse(input, size)
    } catch (error) {
      this.#fail({ kind: 'protocol', message: (error as Error).message })
    }
  }

  #readResponse(input: Buffer, size: number): void {
    const user = this.#user
    if (user === undefined || this.#waiting !== undefined) {
      // Unsolicited bytes must not be read as the response to the next request.
      if (!isBlank(input, 0, size)) this.#fail(CLOSED)
      return
    }
    let at = 0
    if (this.#left === undefined) {
      const responses = this.#responses
      if (!responses.read(input, 0, size)) {
        this.#handOver(input.subarray(0, size), false)
        return
      }
      at = responses.size
      this.#left = responses.length
      this.#chunks.reset()
      user.head(responses.head, this.#left >= 0 && at + this.#left <= size)
    }
    if (this.#left === CHUNKED) this.#chunked(input, at, size)
    else this.#counted(input, this.#left, at, size)
  }

  #counted(input: Buffer, left: number, at: number, size: number): void {
    const end = Math.min(at + left, size)
    if (end > at) this.piece(input, at, end)
    this.#left = left - (end - at)
    this.#bulk = this.#left > BULK
    if (this.#left === 0) this.#whole(isBlank(input, end, size))
  }

  #chunked(input: Buffer, at: number, size: number): void {
    const chunks = this.#chunks
    const state = chunks.read(input, at, size, this)
    this.#bulk = chunks.left > BULK
    switch (state) {
      case 'more':
        if (chunks.at < size) this.#rest = copyOf(input, chunks.at, size)
        return
      case 'whole':
        this.#whole(isBlank(input, chunks.at, size))
        return
      case 'unsupported':
        this.#handOverChunk(input.subarray(chunks.at, size))
        return
      case 'broken':
        this.#fail({ kind: 'protocol', message: 'the chunk data does not have its declared size' })
    }
  }

  /** Ends a complete response; `clean` is true when no bytes follow it. */
  #whole(clean: boolean): void {
    const user = this.#user
    if (user === undefined) return
    this.#user = undefined
    const { closes, keptFor } = this.#responses
    const idle =
      keptFor === undefined
        ? this.#options.idle
        : Math.min(keptFor - RETIRE_BEFORE_APP, LONGEST_IDLE)
    this.#idleLimit = idle
    this.resume()
    user.end(clean && !closes && idle > 0 && this.alive)
  }

  #handOverChunk(rest: Buffer): void {
    const kept = this.#chunks.takeKept()
    this.#handOver(kept === undefined ? rest : Buffer.concat([kept, rest]), true)
  }

  /** Hands the connection to another parser, which needs the head again where it was read here. */
  #handOver(bytes: Buffer, begun: boolean): void {
    const user = this.#user
    if (user === undefined) return
    this.#user = undefined
    const bridge = new BridgedSocket(this.#socket, () => this.resume())
    this.#bridge = bridge
    this.resume()
    this.#events.disconnected(this)
    user.handOver(bridge, begun)
    bridge.feed(begun ? Buffer.concat([this.#responses.bytes, bytes]) : Buffer.from(bytes))
  }

  #pause(): void {
    this.paused = true
    this.#socket.pause()
  }

  #fail(failure: Failure): void {
    this.alive = false
    this.#failure = failure
    this.#socket.destroy()
  }

  #ended(): void {
    const socket = this.#socket
    if (wasReset(socket)) socket.destroy(Object.assign(new Error(RESET.message), RESET_CODE))
    else if (this.#bridge === undefined) socket.destroy()
    else this.#bridge.feed(null)
  }

  #closed(): void {
    this.alive = false
    // No more comes: what has come is read without a pause.
    while (this.#rest !== undefined) this.#readRest()
    if (this.#bridge !== undefined) {
      this.#bridge.disconnected()
      return
    }
    const user = this.#user
    this.#user = undefined
    this.#events.disconnected(this)
    if (this.#waiting !== undefined) user?.unsent(...this.#waiting)
    else user?.fail(this.#failure ?? (this.#reset ? RESET : CLOSED))
  }
}

/** Returns true for line breaks, which mean nothing between messages. */
function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== 13 && bytes[at] !== 10) return false
  return true
}
