import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { asBuffer } from '../base/bytes.ts'
import { unmarked, withoutOwnNames } from '../http/renamed-markers.ts'
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
import { UndiciConnection, type ConnectionOptions } from './undici-connection.ts'
import type { SocketOwner } from './socket-guard.ts'
import type { ConnectionEvents, ConnectionPool } from './connection-pool.ts'
import { headerLines, usualReason } from './response-head.ts'

const OVERLOAD: Failure = { kind: 'overload', message: 'all upstream connections are in use' }
/** Bodies up to this leave in one write with their head, which costs less than two in one system call. */
const ONE_WRITE = 16 * 1024
/** Interim responses to one request; an app that sends more is taken for broken. */
const MOST_INTERIM = 64
const IDLE_TRANSFER: Transfer = { resume: () => undefined, abort: () => undefined }

/** Sends exchanges to the app through undici, one connection each. */
export class UndiciUpstream implements Upstream {
  readonly #pool: ConnectionPool<UndiciConnection>
  readonly #options: ConnectionOptions

  constructor(pool: ConnectionPool<UndiciConnection>, options: ConnectionOptions) {
    this.#pool = pool
    this.#options = options
  }

  /** Whether a connection is open here that nobody uses. */
  get hasIdle(): boolean {
    return this.#pool.hasIdle
  }

  /** Reads the response to a request that was sent already, on a connection that comes from elsewhere. */
  goOn(socket: Socket, sink: ResponseSink, begun = false): Transfer {
    let connections = 0
    const connector: Connector = (done) => {
      if (connections++ > 0 && transfer.over) return this.#options.connector(done)
      // The request was sent once, and must not be sent again where undici found the end too early.
      const ended = connections > 1 ? new Error('the app closed the connection') : null
      process.nextTick(done, ended, ended === null ? socket : null)
      return socket
    }
    const open = (events: ConnectionEvents<UndiciConnection>): UndiciConnection =>
      new UndiciConnection({ ...this.#options, connector }, events)
    let lane: UndiciConnection
    try {
      lane = this.#pool.adopt(open)
    } catch (error) {
      // The first lane loads undici, which takes file handles. Nobody above this would answer.
      socket.destroy()
      // The message has paths of this machine, which are not for clients.
      const why = (error as NodeJS.ErrnoException).code ?? 'an error of its own'
      sink.fail({ kind: 'overload', message: `the app's response cannot be read now: ${why}` })
      return IDLE_TRANSFER
    }
    lane.statusLine.expect()
    const transfer = new UndiciTransfer(this.#pool, lane, sink, begun)
    lane.head.announceWhole('', '')
    lane.dispatch(dispatchOptions('POST', null, undefined), transfer)
    return transfer
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const stream = body === null || body instanceof Uint8Array ? undefined : body
    const chunked = stream !== undefined && stream.length === undefined
    const text = requestHeadText(head, chunked)
    const lane = this.#pool.acquire()
    if (lane === undefined) {
      sink.fail(OVERLOAD)
      return IDLE_TRANSFER
    }
    lane.statusLine.expect()
    const transfer = new UndiciTransfer(this.#pool, lane, sink)
    if (body instanceof Uint8Array && body.byteLength <= ONE_WRITE) {
      lane.head.announceWhole(text, latin1(body))
      lane.dispatch(dispatchOptions(head.method, null, undefined), transfer)
    } else {
      lane.head.announce(text, chunked ? () => stream.trailers() : undefined)
      lane.dispatch(dispatchOptions(head.method, body, stream), transfer)
    }
    return transfer
  }
}

function latin1(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('latin1')
}

/** undici is told only what it needs to frame the body: the head itself is written by the lane. */
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

/** One request under way: undici's callbacks on one side, the sink on the other. */
class UndiciTransfer implements Transfer, SocketOwner, Dispatcher.DispatchHandler {
  readonly #pool: ConnectionPool<UndiciConnection>
  readonly #lane: UndiciConnection
  #sink: ResponseSink
  /** Another parser has read the head, and a part of what is behind it. */
  readonly #begun: boolean
  #resume: (() => void) | undefined
  #done = false
  /** The sink has the whole response, while the connection is not done with it. */
  #ended = false
  #paused = false
  #interim = 0

  constructor(
    pool: ConnectionPool<UndiciConnection>,
    lane: UndiciConnection,
    sink: ResponseSink,
    begun = false,
  ) {
    this.#begun = begun
    this.#pool = pool
    this.#lane = lane
    this.#sink = sink
    lane.guard.owner = this
  }

  /** Nothing more will come of it. */
  get over(): boolean {
    return this.#done
  }

  resume(): void {
    if (this.#done) return
    this.#paused = false
    this.#resume?.()
    if (!this.#paused) this.#lane.guard.resume()
  }

  abort(): void {
    if (this.#done) return
    this.#done = true
    this.#pool.discard(this.#lane)
  }

  onConnect(): void {
    // The lane is destroyed to abort: undici's own way needs a connection first.
  }

  onHeaders(status: number, lines: Buffer[], resume: () => void, reason: string): boolean {
    if (this.#done) return true
    if (this.#lane.statusLine.foreign) {
      this.#refuse('its version is not HTTP/1.0 or HTTP/1.1')
      return true
    }
    if (status < 200) {
      if (++this.#interim > MOST_INTERIM) {
        this.#refuse(`more than ${MOST_INTERIM} interim responses`)
        return true
      }
      const headers = withoutOwnNames(headerLines(lines))
      this.#sink.info({ status, reason: usualReason(status, reason), headers })
      return true
    }
    const head = {
      status,
      reason: this.#lane.statusLine.reason ?? reason,
      headers: withoutOwnNames(headerLines(lines)),
    }
    this.#resume = resume
    this.#sink.head(head)
    if (!this.#begun) this.#sink = unmarked(head, this.#sink)
    // Nothing can follow. A 304 may declare the length that the body would have, and undici would
    // take the missing bytes for a broken response.
    if ((status === 204 || status === 304) && !this.#done) {
      this.#ended = true
      this.#sink.end([])
    }
    return true
  }

  onData(chunk: Buffer): boolean {
    // After a pause undici may come with no bytes at all, and a pause for those would have no end.
    if (this.#done || chunk.length === 0 || this.#sink.data(chunk)) return true
    this.#paused = true
    this.#lane.guard.pause()
    return false
  }

  threw(): void {
    this.onError(new Error('the connection ended in the middle'))
  }

  onComplete(trailers: string[] | Buffer[] | null): void {
    if (this.#done) return
    this.#done = true
    const lane = this.#lane
    if (this.#ended) {
      this.#pool.release(lane)
      return
    }
    if (lane.fate === 'reset') {
      // A body that ends with the connection ends cleanly only by FIN.
      this.#pool.discard(lane)
      this.#sink.fail({ kind: 'reset', message: 'the app reset the connection' })
      return
    }
    this.#pool.release(lane)
    this.#sink.end(trailers === null ? [] : withoutOwnNames(headerLines(trailers)))
  }

  /** Ends an exchange of which the app's response cannot be used. */
  #refuse(message: string): void {
    this.#done = true
    this.#pool.discard(this.#lane)
    this.#sink.fail({ kind: 'protocol', message })
  }

  onError(error: Error): void {
    if (this.#done) return
    this.#done = true
    const failure = failureOf(error, this.#lane.fate)
    this.#pool.discard(this.#lane)
    if (this.#ended) return
    this.#sink.fail(failure)
  }
}
