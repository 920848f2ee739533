import type { Socket } from 'node:net'
import { CHUNKED, ResponseReader } from '../../http/fast/response-reader.ts'
import { ChunkReader, type PieceTaker } from '../../http/fast/chunk-reader.ts'
import { copyOf } from '../../base/bytes.ts'
import type { ChunkRun } from '../../http/chunk-run.ts'
import type { Failure } from '../../http/transfer.ts'
import { ConnectError, type Connector } from '../connector.ts'
import type { ConnectionEvents, PooledConnection } from '../connection-pool.ts'
import { BridgedSocket } from './bridged-socket.ts'

/** Settings of the connections behind one upstream. */
export interface FastConnectionOptions {
  readonly connector: Connector
  /** An idle connection is retired after this, or 2 s before the app says it would close it. */
  readonly idle: number
  readonly maxResponseHead: number
  readonly now: () => number
}

/** Whoever has a request on the lane. */
export interface ConnectionUser {
  head(head: ResponseReader['head'], whole: boolean): void
  data(chunk: Buffer): boolean
  chunks(run: ChunkRun): boolean
  /** The response is whole; `reusable` says whether the connection is in order. */
  end(reusable: boolean): void
  fail(failure: Failure): void
  /** The response is not plain: from here on somebody else reads the connection. */
  odd(socket: BridgedSocket, begun: boolean): void
}

/** The app closes at its own time; retiring ours this much earlier keeps requests off dying connections. */
const RETIRE_BEFORE_APP = 2_000
/** Nor is an app believed that says more than this. */
const LONGEST_IDLE = 600_000
const READ_SIZE = 64 * 1024

/** Above this a response is read into buffers of its own, which need no copy. */
const BULK = 2 * READ_SIZE

const RESET: Failure = { kind: 'reset', message: 'the app reset the connection' }
const CLOSED: Failure = {
  kind: 'closed',
  message: 'the app closed the connection before its response was whole',
}

/** All lanes read into this: what is kept of it is copied before the read is over. */
const INPUT = Buffer.allocUnsafeSlow(READ_SIZE)

/** One connection to the app that is read without an HTTP parser, as long as its responses are plain. */
export class FastConnection implements PooledConnection, PieceTaker {
  alive = true
  busy = false
  readonly #options: FastConnectionOptions
  readonly #events: ConnectionEvents<FastConnection>
  readonly #responses: ResponseReader
  readonly #chunks = new ChunkReader()
  readonly #socket: Socket
  #user: ConnectionUser | undefined
  #ready = false
  /** What to send once there is a connection. */
  #waiting: [text: string, body: Uint8Array | undefined] | undefined
  /** What the next read goes into. */
  #input: Buffer | undefined
  #bulk = false
  /** Left of a body of known length, or `CHUNKED`; undefined while the head is awaited. */
  #left: number | undefined
  #paused = false
  #reset = false
  #staleAt = Infinity
  /** What went wrong on this side; told when the connection has closed. */
  #failure: Failure | undefined
  #bridge: BridgedSocket | undefined

  constructor(options: FastConnectionOptions, events: ConnectionEvents<FastConnection>) {
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
    return now >= this.#staleAt
  }

  /** Sends a request; the body is apart where it is too large to be text. */
  send(user: ConnectionUser, text: string, body: Uint8Array | undefined): void {
    this.#user = user
    this.#left = undefined
    if (this.#ready) this.#write(text, body)
    else this.#waiting = [text, body]
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#socket.resume()
  }

  destroy(): void {
    this.alive = false
    this.#user = undefined
    this.#socket.destroy()
  }

  piece(bytes: Buffer, from: number, to: number): void {
    const user = this.#user
    // Whoever was told of an earlier piece may have given up.
    if (user === undefined) return
    // A small piece would keep the whole buffer alive.
    const isCopied = bytes === INPUT || to - from < READ_SIZE / 4
    if (!user.data(isCopied ? copyOf(bytes, from, to) : bytes.subarray(from, to))) this.#pause()
  }

  run(run: ChunkRun): void {
    const user = this.#user
    if (user !== undefined && !user.chunks(run)) this.#pause()
  }

  /** Asked after each read; nothing where the same buffer serves again. */
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
      this.#bridge?.over(error)
    })
    socket.on('close', () => this.#closed())
    this.#ready = true
    this.#events.connected()
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting !== undefined) this.#write(...waiting)
  }

  #read(size: number): void {
    if (this.#bridge !== undefined) {
      if (!this.#bridge.feed(Buffer.from(this.#input!.subarray(0, size)))) this.#pause()
      return
    }
    try {
      this.#response(size)
    } catch (error) {
      this.#fail({ kind: 'protocol', message: (error as Error).message })
    }
  }

  #response(size: number): void {
    const user = this.#user
    const input = this.#input!
    if (user === undefined) {
      // Nobody asked: whatever this is, the next request must not take it for its response.
      if (!isBlank(input, 0, size)) this.destroy()
      return
    }
    let at = 0
    if (this.#left === undefined) {
      const responses = this.#responses
      if (!responses.read(input, 0, size)) {
        this.#odd(input.subarray(0, size), false)
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
    switch (chunks.read(input, at, size, this)) {
      case 'more':
        return
      case 'whole':
        this.#whole(isBlank(input, chunks.at, size))
        return
      case 'odd':
        this.#oddChunk(input.subarray(chunks.at, size))
        return
      case 'broken':
        this.#fail({ kind: 'protocol', message: 'a chunk does not end where it says' })
    }
  }

  /** The response is there; `clean` says that nothing came behind it. */
  #whole(clean: boolean): void {
    const user = this.#user
    if (user === undefined) return
    this.#user = undefined
    const { closes, keptFor } = this.#responses
    const idle =
      keptFor === undefined
        ? this.#options.idle
        : Math.min(keptFor - RETIRE_BEFORE_APP, LONGEST_IDLE)
    this.#staleAt = this.#options.now() + idle
    this.resume()
    user.end(clean && !closes && idle > 0 && this.alive)
  }

  #oddChunk(rest: Buffer): void {
    const kept = this.#chunks.takeKept()
    this.#odd(kept === undefined ? rest : Buffer.concat([kept, rest]), true)
  }

  /** Somebody else reads on, who must be shown the head again where it was read here. */
  #odd(bytes: Buffer, begun: boolean): void {
    const user = this.#user
    if (user === undefined) return
    this.#user = undefined
    const bridge = new BridgedSocket(this.#socket, () => this.resume())
    this.#bridge = bridge
    this.resume()
    this.#events.disconnected(this)
    user.odd(bridge, begun)
    bridge.feed(begun ? Buffer.concat([this.#responses.bytes, bytes]) : Buffer.from(bytes))
  }

  #pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  #fail(failure: Failure): void {
    this.alive = false
    this.#failure = failure
    this.#socket.destroy()
  }

  #ended(): void {
    if (this.#bridge === undefined) this.#socket.destroy()
    else this.#bridge.feed(null)
  }

  #closed(): void {
    if (this.#bridge !== undefined) {
      this.#bridge.over()
      return
    }
    this.alive = false
    const user = this.#user
    this.#user = undefined
    this.#events.disconnected(this)
    user?.fail(this.#failure ?? (this.#reset ? RESET : CLOSED))
  }
}

/** Line breaks between messages mean nothing. */
function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== 13 && bytes[at] !== 10) return false
  return true
}
