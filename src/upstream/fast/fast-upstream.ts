import type { Socket } from 'node:net'
import { asBuffer } from '../../base/bytes.ts'
import type { ChunkRun } from '../../http/chunk-run.ts'
import type { RequestHead, ResponseHead } from '../../http/headers.ts'
import { unmarked } from '../../http/renamed-markers.ts'
import { FastRequestHead } from '../../http/fast/fast-request-head.ts'
import { requestHeadText } from '../../http/request-text.ts'
import type { Body, Failure, ResponseSink, Transfer, Upstream } from '../../http/transfer.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import type { UndiciUpstream } from '../undici-upstream.ts'
import type { BridgedSocket } from './bridged-socket.ts'
import type { ConnectionUser, FastConnection } from './fast-connection.ts'

const OVERLOAD: Failure = { kind: 'overload', message: 'all upstream connections are in use' }
/** Bodies up to this leave in one write with their head. */
const ONE_WRITE = 16 * 1024
const IDLE_TRANSFER: Transfer = { resume: () => undefined, abort: () => undefined }

/**
 * Sends requests whose body is at hand as bytes over connections of its own, and reads the responses
 * as long as they are plain. What is not plain goes to undici: the request, or the connection with
 * what it has answered so far.
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
    let lane = pool.acquireIdle()
    if (lane === undefined) {
      // An app whose responses are never plain must not cost a connection for each of them.
      if (this.#standard.hasIdle) return this.#standard.send(head, body, sink)
      lane = pool.acquire()
      if (lane === undefined) {
        sink.fail(OVERLOAD)
        return IDLE_TRANSFER
      }
    }
    const transfer = new FastTransfer(pool, lane, sink, this.#standard)
    if (body === null) lane.send(transfer, text, undefined)
    else if (body.length > ONE_WRITE) lane.send(transfer, text, body)
    else lane.send(transfer, text + asBuffer(body).toString('latin1'), undefined)
    return transfer
  }
}

function isPlain(head: RequestHead, body: Body): body is Uint8Array | null {
  if (head.version !== '1.1' || !(body === null || body instanceof Uint8Array)) return false
  const { method } = head
  return method === 'POST' || method === 'GET' || method === 'DELETE'
}

/** One request under way. */
class FastTransfer implements Transfer, ConnectionUser {
  readonly #pool: ConnectionPool<FastConnection>
  readonly #lane: FastConnection
  #sink: ResponseSink
  readonly #standard: UndiciUpstream
  #done = false
  /** Who has the request after the response turned out odd. */
  #next: Transfer | undefined

  constructor(
    pool: ConnectionPool<FastConnection>,
    lane: FastConnection,
    sink: ResponseSink,
    standard: UndiciUpstream,
  ) {
    this.#pool = pool
    this.#lane = lane
    this.#sink = sink
    this.#standard = standard
  }

  resume(): void {
    if (this.#next !== undefined) this.#next.resume()
    else if (!this.#done) this.#lane.resume()
  }

  abort(): void {
    if (this.#next !== undefined) {
      this.#next.abort()
      return
    }
    if (this.#done) return
    this.#done = true
    this.#pool.discard(this.#lane)
  }

  head(head: ResponseHead, whole: boolean): void {
    const sink = this.#sink
    this.#sink = unmarked(head, sink)
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
    if (reusable) this.#pool.release(this.#lane)
    else this.#pool.discard(this.#lane)
    this.#sink.end([])
  }

  fail(failure: Failure): void {
    this.#done = true
    this.#pool.discard(this.#lane)
    this.#sink.fail(failure)
  }

  odd(socket: BridgedSocket, begun: boolean): void {
    this.#pool.leave(this.#lane)
    const sink = begun ? behindHead(this.#sink) : this.#sink
    this.#next = this.#standard.goOn(socket as unknown as Socket, sink, begun)
  }
}

/** A sink that has had the head already, and is spared it when it comes again. */
function behindHead(sink: ResponseSink): ResponseSink {
  return {
    info: () => undefined,
    head: () => undefined,
    data: (chunk) => sink.data(chunk),
    end: (trailers) => sink.end(trailers),
    fail: (failure) => sink.fail(failure),
  }
}
