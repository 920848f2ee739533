import type { Socket } from 'node:net'
import { asBuffer } from '../../../base/bytes.ts'
import type { RequestHead } from '../../../http/headers.ts'
import type { RequestReader } from '../../../http/fast/request-reader.ts'
import { ByteList } from '../../../base/byte-list.ts'
import type { Body } from '../../../http/transfer.ts'
import { type ClientConnection, ClientExchange, type OpenBody } from '../client-connection.ts'
import type { Exchange, IncomingBody } from '../../exchange.ts'
import { FastResponse, type ResponseOutput } from './fast-response.ts'

const EMPTY = Buffer.alloc(0)

/** The body of a request on the fast path, which is sent when it is complete. */
export class FastBody implements IncomingBody, OpenBody {
  /** The bytes of the body that have not arrived. */
  missing: number
  readonly length: number
  readonly isHeld = true
  readonly isUnread = false
  #bytes: Buffer
  /** The pieces of an incomplete body. */
  #pieces: ByteList | undefined
  #collected: ((bytes: Uint8Array) => void) | undefined

  constructor(first: Buffer, length: number) {
    this.length = length
    this.#bytes = first
    this.missing = length - first.length
    if (this.missing > 0) {
      this.#pieces = new ByteList()
      if (first.length > 0) this.#pieces.push(first)
    }
  }

  get kept(): Uint8Array | undefined {
    return this.arrived ? this.#bytes : undefined
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

  /** The caller has counted the body's `length` in the memory budget. */
  constructor(
    { head, length }: Pick<RequestReader, 'head' | 'length'>,
    first: Buffer,
    socket: Socket,
    connection: ClientConnection,
    output: ResponseOutput,
  ) {
    super(connection, socket)
    this.head = head
    this.body = new FastBody(first, length)
    this.response = new FastResponse(output, this)
  }

  protected override release(): void {
    this.connection.memory.give(this.body.length)
    this.body.drop()
  }
}
