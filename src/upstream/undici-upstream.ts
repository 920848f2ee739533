import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { asBuffer } from '../base/bytes.ts'
import { renameMarkers, renameSquallHeaders } from '../http/renamed-markers.ts'
import type { RequestHead } from '../http/headers.ts'
import { requestHeadText } from '../http/request-text.ts'
import type {
  Body,
  Failure,
  ResponseSink,
  StreamBody,
  Transfer,
  Upstream,
} from '../http/transfer.ts'
import type { Connector } from './connector.ts'
import { failureOf } from './failure.ts'
import { UndiciConnection } from './undici-connection.ts'
import type { SocketOwner } from './socket-guard.ts'
import type { ConnectionEvents, ConnectionOptions, ConnectionPool } from './connection-pool.ts'
import { headerLines, usualReason } from './response-head.ts'

/** Fails a request for which no connection may be opened. */
export const OVERLOAD: Failure = {
  kind: 'overload',
  message: 'all upstream connections are in use',
}
/**
 * Bodies up to this size are written together with their head, which is cheaper than two corked
 * writes.
 */
export const ONE_WRITE = 16 * 1024
/** The interim responses to one request, beyond which the response is a protocol failure. */
const MOST_INTERIM = 64
/** Controls a request that has failed. */
export const IDLE_TRANSFER: Transfer = { resume: () => undefined, abort: () => undefined }

/** Sends exchanges to the upstream through undici, one connection each. */
export class UndiciUpstream implements Upstream {
  readonly #pool: ConnectionPool<UndiciConnection>
  readonly #options: ConnectionOptions

  constructor(pool: ConnectionPool<UndiciConnection>, options: ConnectionOptions) {
    this.#pool = pool
    this.#options = options
  }

  get hasIdle(): boolean {
    return this.#pool.hasIdle
  }

  /**
   * Reads the response to a request that was sent already, on a connection that another reader
   * opened.
   */
  takeOver(socket: Socket, sink: ResponseSink, begun = false): Transfer {
    let connections = 0
    const connector: Connector = (done) => {
      if (connections++ > 0 && transfer.done) return this.#options.connector(done)
      // undici reconnects when the connection ends early: the request must not be sent twice.
      const ended = connections > 1 ? new Error('the upstream closed the connection') : null
      process.nextTick(done, ended, ended === null ? socket : null)
      return socket
    }
    const open = (events: ConnectionEvents<UndiciConnection>): UndiciConnection =>
      new UndiciConnection({ ...this.#options, connector }, events)
    let connection: UndiciConnection
    try {
      connection = this.#pool.adopt(open)
    } catch (error) {
      // The first connection loads undici, which needs file handles. No caller handles this error.
      socket.destroy()
      // Clients must not see the message, which contains local paths.
      const why = (error as NodeJS.ErrnoException).code ?? 'unknown error'
      sink.fail({ kind: 'overload', message: `the upstream's response cannot be read now: ${why}` })
      return IDLE_TRANSFER
    }
    connection.statusLine.expect()
    const transfer = new UndiciTransfer(this.#pool, connection, sink, begun)
    connection.head.announceWhole('', '')
    connection.dispatch(dispatchOptions('POST', null, undefined), transfer)
    return transfer
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const stream = body === null || body instanceof Uint8Array ? undefined : body
    const chunked = stream !== undefined && stream.length === undefined
    const text = requestHeadText(head, chunked)
    const connection = this.#pool.acquire()
    if (connection === undefined) {
      sink.fail(OVERLOAD)
      return IDLE_TRANSFER
    }
    connection.statusLine.expect()
    const transfer = new UndiciTransfer(this.#pool, connection, sink)
    if (body instanceof Uint8Array && body.byteLength <= ONE_WRITE) {
      connection.head.announceWhole(text, latin1(body))
      connection.dispatch(dispatchOptions(head.method, null, undefined), transfer)
    } else {
      connection.head.announce(text, chunked ? () => stream.trailers() : undefined)
      transfer.isStream = stream !== undefined
      connection.dispatch(dispatchOptions(head.method, body, stream), transfer)
    }
    return transfer
  }
}

function latin1(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('latin1')
}

/**
 * Returns only the options that undici needs to frame the body: `RequestHeadWriter` writes the
 * head.
 */
function dispatchOptions(
  method: string,
  body: Body,
  stream: StreamBody | undefined,
): Dispatcher.DispatchOptions {
  return {
    method,
    path: '/',
    body: body as Uint8Array | null,
    reset: false,
    headers: stream?.length === undefined ? null : ['content-length', String(stream.length)],
  }
}

/** Passes undici's callbacks for one request to its sink. */
class UndiciTransfer implements Transfer, SocketOwner, Dispatcher.DispatchHandler {
  readonly #pool: ConnectionPool<UndiciConnection>
  readonly #connection: UndiciConnection
  #sink: ResponseSink
  /** True when another parser has delivered the head, which comes again, and a part of the body. */
  readonly #begun: boolean
  /** True when the body may arrive after the head. */
  isStream = false
  #resume: (() => void) | undefined
  #done = false
  /** True when the sink has the whole response, but undici does not. */
  #ended = false
  #paused = false
  #interim = 0

  constructor(
    pool: ConnectionPool<UndiciConnection>,
    connection: UndiciConnection,
    sink: ResponseSink,
    begun = false,
  ) {
    this.#begun = begun
    this.#pool = pool
    this.#connection = connection
    this.#sink = sink
    connection.guard.owner = this
  }

  get done(): boolean {
    return this.#done
  }

  resume(): void {
    if (this.#done) return
    this.#paused = false
    this.#resume?.()
    if (!this.#paused) this.#connection.guard.resume()
  }

  abort(): void {
    if (this.#done) return
    this.#done = true
    this.#pool.discard(this.#connection)
  }

  onConnect(): void {
    // `abort` destroys the connection itself, because undici's abort needs an open connection.
    if (this.isStream) setImmediate(() => this.#done || this.#connection.head.flush())
  }

  onHeaders(status: number, lines: Buffer[], resume: () => void, reason: string): boolean {
    if (this.#done) return true
    if (this.#connection.statusLine.foreign) {
      this.#reject('unsupported HTTP version; expected HTTP/1.0 or HTTP/1.1')
      return true
    }
    if (status < 200) {
      if (++this.#interim > MOST_INTERIM) {
        this.#reject(`more than ${MOST_INTERIM} interim responses`)
        return true
      }
      const headers = renameSquallHeaders(headerLines(lines))
      this.#sink.info({ status, reason: usualReason(status, reason), headers })
      return true
    }
    const head = {
      status,
      reason: this.#connection.statusLine.reason ?? reason,
      headers: renameSquallHeaders(headerLines(lines)),
    }
    this.#resume = resume
    if (!this.#begun) {
      this.#sink.head(head)
      this.#sink = renameMarkers(head, this.#sink)
    }
    // No body follows. A 304 may declare the length of the omitted body, and undici would report
    // the missing bytes as a broken response.
    if ((status === 204 || status === 304) && !this.#done) {
      this.#ended = true
      this.#sink.end([])
    }
    return true
  }

  onData(chunk: Buffer): boolean {
    // After a pause undici may deliver an empty chunk; pausing for that would never end.
    if (this.#done || chunk.length === 0 || this.#sink.data(chunk)) return true
    this.#paused = true
    this.#connection.guard.pause()
    return false
  }

  threw(): void {
    this.onError(new Error('the connection ended in the middle'))
  }

  onComplete(trailers: string[] | Buffer[] | null): void {
    if (this.#done) return
    this.#done = true
    const connection = this.#connection
    if (this.#ended) {
      this.#pool.release(connection)
      return
    }
    if (connection.state === 'reset') {
      // A body without a length ends cleanly only by FIN.
      this.#pool.discard(connection)
      this.#sink.fail({ kind: 'reset', message: 'the upstream reset the connection' })
      return
    }
    this.#pool.release(connection)
    this.#sink.end(trailers === null ? [] : renameSquallHeaders(headerLines(trailers)))
  }

  /** Ends an exchange whose response cannot be used. */
  #reject(message: string): void {
    this.#done = true
    this.#pool.discard(this.#connection)
    this.#sink.fail({ kind: 'protocol', message })
  }

  onError(error: Error): void {
    if (this.#done) return
    this.#done = true
    const failure = failureOf(error, this.#connection.state, this.#connection.error)
    this.#pool.discard(this.#connection)
    if (this.#ended) return
    this.#sink.fail(failure)
  }
}
