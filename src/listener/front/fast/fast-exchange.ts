import type { Socket } from 'node:net'
import { asBuffer } from '../../../base/bytes.ts'
import type { RequestHead } from '../../../http/headers.ts'
import type { RequestReader } from '../../../http/fast/request-reader.ts'
import { ByteList } from '../../../base/byte-list.ts'
import type { Body } from '../../../http/transfer.ts'
import { type ClientConnection, ClientExchange, type OpenBody } from '../client-connection.ts'
import type { Exchange, IncomingBody } from '../../exchange.ts'
import type { MemoryBudget } from '../../memory-budget.ts'
import { BodyWatch } from '../../hold-watch.ts'
import { FastResponse, type ResponseOutput } from './fast-response.ts'

const EMPTY = Buffer.alloc(0)

/** The body of a request on the fast path, which is sent when it is complete. */
export class FastBody implements IncomingBody, OpenBody {
  /** The bytes of the body that have not arrived. */
  missing: number
  readonly #socket: Socket
  readonly length: number
  #bytes: Buffer
  /** The pieces of an incomplete body. */
  #pieces: ByteList | undefined
  #collected: ((bytes: Uint8Array) => void) | undefined
  #watch: BodyWatch | undefined

  constructor(first: Buffer, length: number, socket: Socket) {
    this.#socket = socket
    this.length = length
    this.#bytes = first
    this.missing = length - first.length
    if (this.missing > 0) {
      this.#pieces = new ByteList()
      if (first.length > 0) this.#pieces.push(first)
    }
  }

  get kept(): Uint8Array | undefined {
    return this.whole ? this.#bytes : undefined
  }

  get whole(): boolean {
    return this.missing === 0
  }

  get arrived(): boolean {
    return this.missing === 0
  }

  collect(_limit: number, done: (bytes: Uint8Array) => void): void {
    if (this.missing === 0) done(this.#bytes)
    else this.#collected = done
  }

  forSending(): Body {
    return this.length === 0 ? null : this.#bytes
  }

  /** Adds a piece of the body, which must not exceed the missing bytes. */
  push(piece: Buffer): void {
    const pieces = this.#pieces
    if (pieces === undefined) return
    pieces.push(piece)
    this.missing -= piece.length
    if (this.missing > 0) return
    this.#bytes = asBuffer(pieces.joined())
    this.#pieces = undefined
    const done = this.#collected
    this.#collected = undefined
    done?.(this.#bytes)
  }

  stalledFor(now: number): number {
    if (this.missing === 0) return 0
    this.#watch ??= new BodyWatch()
    return this.#watch.stalledFor(this.#socket, now)
  }

  heldTooLong(now: number, timeout: number): boolean {
    if (this.missing === 0) return false
    this.#watch ??= new BodyWatch()
    return this.#watch.tooLong(this.#socket, now, timeout)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Drops the bytes at the end of the exchange. */
  drop(): void {
    this.#bytes = EMPTY
  }
}

/** An exchange of the fast path. */
export class FastExchange extends ClientExchange implements Exchange {
  readonly head: RequestHead
  readonly body: FastBody
  readonly response: FastResponse
  readonly #socket: Socket
  readonly #memory: MemoryBudget

  /** The caller has counted the body's `length` in the memory budget. */
  constructor(
    { head, length }: Pick<RequestReader, 'head' | 'length'>,
    first: Buffer,
    socket: Socket,
    connection: ClientConnection,
    output: ResponseOutput,
  ) {
    super(connection)
    this.#memory = connection.memory
    this.head = head
    this.#socket = socket
    this.body = new FastBody(first, length, socket)
    this.response = new FastResponse(output, this)
  }

  get peer(): string | undefined {
    return this.#socket.remoteAddress
  }

  protected override release(): void {
    this.#memory.give(this.body.length)
    this.body.drop()
  }
}
