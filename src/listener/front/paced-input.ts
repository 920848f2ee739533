import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { asBuffer } from '../../base/bytes.ts'
import { ByteList } from '../../base/byte-list.ts'
import { inputTurns, isShareUsed, spendShare } from '../../base/event-loop.ts'

/** Waiting bytes beyond which the socket is not read. */
const MOST_WAITING = 64 * 1024
/** The bytes behind which a client that ends its side is waited for: a last request, no pipeline. */
const LAST_BYTES = 16 * 1024
/** Times are added up to this, in milliseconds: shorter ones do not count. */
const MOMENT = 0.1
/**
 * The lines that node:http gets at a time: it handles all requests and chunks in them in one go, and
 * each has two lines or more.
 */
const LINES = 48
const LF = 10

/** The requests of a connection. */
interface Requests {
  /** Undefined while no request is open. */
  readonly oldest: unknown
  /** True while another request may begin. */
  readonly mayBegin: boolean
  /** True while the body of the last request is arriving. */
  readonly isArriving: boolean
}

/** Reads the bytes of a client. */
export interface InputTaker {
  /** Returns false while later bytes must wait. */
  mayTake(): boolean
  /** The lines that it gets at a time. */
  readonly lines: number
  /** Takes the next bytes, at most one request of them; returns their number. */
  take(bytes: Buffer): number
}

/**
 * Passes the bytes of a client on, no faster than it may have requests open, and no longer than
 * requests have time in one iteration of the event loop.
 */
export class PacedInput {
  readonly #socket: Socket
  readonly #connection: Requests
  readonly #taker: InputTaker
  readonly #waiting = new ByteList()
  /** The bytes behind those that are being taken. */
  #behind: Buffer | undefined
  #isQueued = false
  #isStopped = false
  #hasEnded = false
  readonly #onResume = (): void => this.resume()

  constructor(socket: Socket, connection: Requests, taker: InputTaker) {
    this.#socket = socket
    this.#connection = connection
    this.#taker = taker
    // Instead of the stream, which would schedule a tick for each piece and keep what it cannot pass.
    socket.push = (chunk: Buffer | null) => {
      if (chunk === null) return this.#end()
      this.push(chunk)
      this.#isStopped = this.#waiting.size > MOST_WAITING
      return !this.#isStopped
    }
    socket.on('resume', this.#onResume)
  }

  /** Passes bytes on, at once or later. */
  push(bytes: Buffer): void {
    const mustWait = this.#waiting.size > 0 || this.#behind !== undefined || isShareUsed()
    if (mustWait || !this.#taker.mayTake()) this.#wait(bytes)
    else this.#offer(bytes)
  }

  /** Continues with waiting bytes in a later iteration. */
  resume(): void {
    if (this.#isQueued || (this.#waiting.size === 0 && !this.#hasEnded)) return
    this.#isQueued = true
    inputTurns.add(() => this.#continue(), this.#connection.oldest === undefined)
  }

  /** Restores reading through the stream; returns the bytes that were not taken. */
  release(): Buffer {
    const socket: Partial<Pick<Socket, 'push'>> = this.#socket
    delete socket.push
    this.#socket.off('resume', this.#onResume)
    this.#start()
    const rest = [...(this.#behind === undefined ? [] : [this.#behind]), ...this.#waiting.list]
    this.#behind = undefined
    this.#waiting.clear()
    return rest.length === 1 ? asBuffer(rest[0]!) : Buffer.concat(rest)
  }

  /** A client that ends its side has left, unless its last bytes only wait for their turn. */
  #end(): boolean {
    const { size } = this.#waiting
    if (size > 0 && size <= LAST_BYTES && this.#taker.mayTake()) {
      this.#hasEnded = true
      return false
    }
    this.#waiting.clear()
    return Readable.prototype.push.call(this.#socket, null)
  }

  #wait(bytes: Buffer): void {
    this.#waiting.push(bytes)
    this.resume()
  }

  #continue(): void {
    this.#isQueued = false
    if (this.#taker.mayTake()) {
      const bytes = asBuffer(this.#waiting.joined())
      this.#waiting.clear()
      if (bytes.length > 0) this.#offer(bytes)
      if (this.#waiting.size <= MOST_WAITING) this.#start()
    }
    // The requests that still wait for the end of an open one wait in vain.
    if (this.#hasEnded && (this.#waiting.size === 0 || !this.#taker.mayTake())) {
      this.#hasEnded = false
      this.#waiting.clear()
      Readable.prototype.push.call(this.#socket, null)
    }
  }

  #offer(bytes: Buffer): void {
    let rest = bytes
    let begun = performance.now()
    // A request of a client that has left would begin after the end of its connection.
    for (let isUsed = false; rest.length > 0 && !this.#socket.destroyed;) {
      if (isUsed || !this.#taker.mayTake()) {
        this.#behind = undefined
        this.#wait(rest)
        return
      }
      const { lines } = this.#taker
      const next = lines === Infinity ? rest : firstLines(rest, lines)
      this.#behind = rest.subarray(next.length)
      const taken = this.#taker.take(next)
      // Released meanwhile.
      if (this.#behind === undefined) return
      rest = rest.subarray(taken)
      const now = performance.now()
      if (now - begun < MOMENT) continue
      isUsed = spendShare(now - begun)
      begun = now
    }
    this.#behind = undefined
  }

  /** Reads the socket again. */
  #start(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    this.#socket._read(0)
  }
}

/** Paces a connection that node:http has just begun to read, some lines at a time. */
export function pacedParser(socket: Socket, connection: Requests, lines = LINES): PacedInput {
  // With a listener for its bytes, node:http takes them from the socket and not from its handle.
  const nothing = (): void => undefined
  socket.on('data', nothing).off('data', nothing)
  const parse = socket.listeners('data').at(-1) as (bytes: Buffer) => void
  const taker: InputTaker = {
    mayTake: () => (connection.mayBegin || connection.isArriving) && !socket.isPaused(),
    get lines() {
      // Where only a body may end, the requests behind its end must wait.
      return connection.mayBegin ? lines : 1
    },
    take: (bytes) => {
      parse.call(socket, bytes)
      return bytes.length
    },
  }
  return new PacedInput(socket, connection, taker)
}

function firstLines(bytes: Buffer, lines: number): Buffer {
  let end = 0
  for (let line = 0; line < lines; line++) {
    end = bytes.indexOf(LF, end) + 1
    if (end === 0) return bytes
  }
  return bytes.subarray(0, end)
}
