import type { Socket } from 'node:net'
import { asBuffer } from '../../base/bytes.ts'
import type { ChunkRun } from '../../http/chunk-run.ts'
import type { RequestHead, ResponseHead } from '../../http/headers.ts'
import { renameMarkers } from '../../http/renamed-markers.ts'
import { FastRequestHead } from '../../http/fast/fast-request-head.ts'
import { requestHeadText } from '../../http/request-text.ts'
import type { Body, Failure, ResponseSink, Transfer, Upstream } from '../../http/transfer.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import { IDLE_TRANSFER, ONE_WRITE, OVERLOAD, type UndiciUpstream } from '../undici-upstream.ts'
import type { BridgedSocket } from './bridged-socket.ts'
import type { ConnectionUser, FastConnection } from './fast-connection.ts'

/**
 * Sends requests whose whole body is in memory, and reads the responses as long as they are plain.
 * undici takes the rest: other requests, and connections whose response turns out not to be plain.
 */
export class FastUpstream implements Upstream {
  readonly #pool: ConnectionPool<FastConnection>
  readonly #standard: UndiciUpstream

  constructor(pool: ConnectionPool<FastConnection>, standard: UndiciUpstream) {
    this.#pool = pool
    this.#standard = standard
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    if (!isPlain(head, body)) return this.#standard.send(head, body, sink)
    const text = head instanceof FastRequestHead ? head.text : `${requestHeadText(head, false)}\r\n`
    const pool = this.#pool
    let connection = pool.acquireIdle()
    if (connection === undefined) {
      // An upstream whose responses are never plain must not get a new connection for each request.
      if (this.#standard.hasIdle) return this.#standard.send(head, body, sink)
      connection = pool.acquire()
      if (connection === undefined) {
        sink.fail(OVERLOAD)
        return IDLE_TRANSFER
      }
    }
    const transfer = new FastTransfer(pool, connection, sink, this.#standard)
    if (body === null) connection.send(transfer, text, undefined)
    else if (body.length > ONE_WRITE) connection.send(transfer, text, body)
    else connection.send(transfer, text + asBuffer(body).toString('latin1'), undefined)
    return transfer
  }
}

function isPlain(head: RequestHead, body: Body): body is Uint8Array | null {
  if (head.version !== '1.1' || !(body === null || body instanceof Uint8Array)) return false
  const { method } = head
  return method === 'POST' || method === 'GET' || method === 'DELETE'
}

/** Carries one request on the fast path. */
class FastTransfer implements Transfer, ConnectionUser {
  readonly #pool: ConnectionPool<FastConnection>
  #connection: FastConnection
  #sink: ResponseSink
  readonly #standard: UndiciUpstream
  #done = false
  /** The transfer of undici, after the response was handed over. */
  #next: Transfer | undefined

  constructor(
    pool: ConnectionPool<FastConnection>,
    connection: FastConnection,
    sink: ResponseSink,
    standard: UndiciUpstream,
  ) {
    this.#pool = pool
    this.#connection = connection
    this.#sink = sink
    this.#standard = standard
  }

  resume(): void {
    if (this.#next !== undefined) this.#next.resume()
    else if (!this.#done) this.#connection.resume()
  }

  abort(): void {
    if (this.#next !== undefined) {
      this.#next.abort()
      return
    }
    if (this.#done) return
    this.#done = true
    this.#pool.discard(this.#connection)
  }

  head(head: ResponseHead, whole: boolean): void {
    const sink = this.#sink
    this.#sink = renameMarkers(head, sink)
    sink.head(head, whole)
  }

  data(chunk: Buffer): boolean {
    return this.#sink.data(chunk)
  }

  chunks(run: ChunkRun): boolean {
    const sink = this.#sink
    if (sink.chunks !== undefined) return sink.chunks(run)
    return run.each((chunk) => this.#done || sink.data(chunk))
  }

  end(reusable: boolean): void {
    this.#done = true
    if (reusable) this.#pool.release(this.#connection)
    else this.#pool.discard(this.#connection)
    this.#sink.end([])
  }

  fail(failure: Failure): void {
    this.#done = true
    this.#pool.discard(this.#connection)
    this.#sink.fail(failure)
  }

  unsent(text: string, body: Uint8Array | undefined): void {
    this.#pool.discard(this.#connection)
    const connection = this.#pool.acquire()
    if (connection === undefined) this.fail(OVERLOAD)
    else {
      this.#connection = connection
      connection.send(this, text, body)
    }
  }

  handOver(socket: BridgedSocket, begun: boolean): void {
    this.#pool.detach(this.#connection)
    this.#next = this.#standard.takeOver(socket as unknown as Socket, this.#sink, begun)
  }
}
