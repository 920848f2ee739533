import type { Socket } from 'node:net'
import { asBuffer } from '../../../base/bytes.ts'
import type { RequestHead } from '../../../http/headers.ts'
import { Pieces } from '../../../base/pieces.ts'
import type { Body } from '../../../http/transfer.ts'
import type { ClientConnection } from '../client-connection.ts'
import { ClientExchange } from '../client-exchange.ts'
import type { Exchange, IncomingBody } from '../../exchange.ts'
import { HoldWatch } from '../../hold-watch.ts'
import type { OpenBody } from '../open-exchange.ts'
import { FastResponse, type ResponseLine } from './fast-response.ts'

const EMPTY = Buffer.alloc(0)

/** An exchange whose request was read without node:http: its body is whole, or will be before it is sent. */
export class FastExchange extends ClientExchange implements Exchange, IncomingBody, OpenBody {
  readonly head: RequestHead
  readonly response: FastResponse
  readonly #socket: Socket
  readonly #length: number
  #bytes: Buffer
  /** What has come of a body that is not whole. */
  #pieces: Pieces | undefined
  #missing: number
  #collected: ((bytes: Uint8Array) => void) | undefined
  #seenBytes = -1
  #seenAt = 0
  #hold: HoldWatch | undefined

  /** The budget has counted the body's length. */
  constructor(
    head: RequestHead,
    first: Buffer,
    length: number,
    socket: Socket,
    connection: ClientConnection,
    line: ResponseLine,
  ) {
    super(connection)
    this.head = head
    this.#socket = socket
    this.#length = length
    this.held = length
    this.#bytes = first
    this.#missing = length - first.length
    if (this.#missing > 0) {
      this.#pieces = new Pieces()
      if (first.length > 0) this.#pieces.push(first)
    }
    this.response = new FastResponse(line, this)
  }

  get body(): this {
    return this
  }

  get peer(): string | undefined {
    return this.#socket.remoteAddress
  }

  get kept(): Uint8Array | undefined {
    return this.whole ? this.#bytes : undefined
  }

  get whole(): boolean {
    return this.#missing === 0
  }

  get arrived(): boolean {
    return this.#missing === 0
  }

  /** How many bytes of the body have not come. */
  get missing(): number {
    return this.#missing
  }

  collect(_limit: number, done: (bytes: Uint8Array) => void): void {
    if (this.#missing === 0) done(this.#bytes)
    else this.#collected = done
  }

  forSending(): Body {
    return this.#length === 0 ? null : this.#bytes
  }

  /** More of the body, and no more than is missing. */
  push(piece: Buffer): void {
    const pieces = this.#pieces
    if (pieces === undefined) return
    pieces.push(piece)
    this.#missing -= piece.length
    if (this.#missing > 0) return
    this.#bytes = asBuffer(pieces.joined())
    this.#pieces = undefined
    const done = this.#collected
    this.#collected = undefined
    done?.(this.#bytes)
  }

  stalledFor(now: number): number {
    if (this.#missing === 0) return 0
    const bytes = this.#socket.bytesRead
    if (bytes !== this.#seenBytes || this.#socket.isPaused()) {
      this.#seenBytes = bytes
      this.#seenAt = now
    }
    return now - this.#seenAt
  }

  heldTooLong(now: number, timeout: number): boolean {
    if (this.#missing === 0) return false
    this.#hold ??= new HoldWatch()
    return this.#hold.tooLong(this.#socket, now, timeout)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  override over(): void {
    super.over()
    this.#bytes = EMPTY
  }
}
