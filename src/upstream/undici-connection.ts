import type { Socket } from 'node:net'
import type { Client, Dispatcher } from 'undici'
import { afterReads } from '../base/after-reads.ts'
import { paceReads } from './paced-reads.ts'
import { RequestHeadWriter } from './request-head-writer.ts'
import {
  type ConnectionEvents,
  type ConnectionOptions,
  type PooledConnection,
  RETIRE_BEFORE_APP,
} from './connection-pool.ts'
import { SocketGuard } from './socket-guard.ts'
import { StatusLine } from './status-line.ts'
import { undiciClient } from './undici-module.ts'
import { wasReset } from './was-reset.ts'

/** The end of a connection as the socket reported it; `broken` is an error on this side. */
export type SocketState = 'open' | 'reset' | 'closed' | 'broken'

/**
 * One connection to the upstream, used by one exchange at a time. undici's own pool looks through
 * its clients for a free one, which with thousands of held streams costs more than the request.
 */
export class UndiciConnection implements PooledConnection {
  readonly head = new RequestHeadWriter()
  readonly statusLine = new StatusLine()
  readonly guard = new SocketGuard()
  state: SocketState = 'open'
  /** The error of the socket. */
  error: NodeJS.ErrnoException | undefined
  alive = true
  busy = false
  idleSince = 0
  looksFirst = false
  readonly #client: Client
  #connecting: Socket | undefined

  constructor(options: ConnectionOptions, events: ConnectionEvents<UndiciConnection>) {
    const UndiciClient = undiciClient()
    this.#client = new UndiciClient('http://squall.invalid', {
      connect: (_options, callback) => {
        this.state = 'open'
        this.error = undefined
        this.#connecting = options.connector((error, socket) => {
          this.#connecting = undefined
          if (socket === null) {
            callback(error ?? new Error('no socket'), null)
            return
          }
          this.#adopt(socket, events)
          callback(null, socket)
        })
      },
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: options.idle,
      keepAliveTimeoutThreshold: RETIRE_BEFORE_APP,
      maxHeaderSize: options.maxResponseHead,
    })
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    // undici sends a request whose connection has ended on a new one.
    if (this.looksFirst) afterReads(() => this.#client.dispatch(options, handler))
    else this.#client.dispatch(options, handler)
  }

  /** Returns false: undici itself ends idle connections. */
  isStale(): boolean {
    return false
  }

  destroy(): void {
    this.alive = false
    this.#connecting?.destroy()
    void this.#client.destroy().catch(() => undefined)
  }

  #adopt(socket: Socket, events: ConnectionEvents<UndiciConnection>): void {
    this.guard.attach(socket)
    this.head.attach(socket)
    this.statusLine.attach(socket)
    paceReads(socket)
    socket.once('error', (error: NodeJS.ErrnoException) => {
      this.error = error
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') this.state = 'reset'
      else if (this.state === 'open') this.state = 'broken'
    })
    socket.once('end', () => {
      if (this.state === 'open') this.state = wasReset(socket) ? 'reset' : 'closed'
    })
    socket.once('close', () => {
      if (this.state === 'open') this.state = 'closed'
      events.disconnected(this)
    })
    events.connected()
  }
}
