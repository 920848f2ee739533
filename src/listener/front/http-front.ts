import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { RejectionReason, Telemetry } from '../../telemetry/telemetry.ts'
import { findAmbiguity } from '../../http/ambiguity.ts'
import { cutSocket } from './cut-socket.ts'
import { rejectBadRequest } from './bad-request.ts'
import type { FrontOptions } from './front-options.ts'
import { NodeExchange, requestHead } from './node-exchange.ts'
import { createNodeServer } from './node-server.ts'
import { afterReads, stopListening, waitingSockets } from './drain.ts'
import { ClientConnection } from './client-connection.ts'
import { unreadableRequest, WRONG_VERSION, type ParserError } from './unreadable-request.ts'
import { MemoryBudget } from '../memory-budget.ts'
import { mayBeIgnored, withoutUpgrade } from './upgrade-offer.ts'
import { canGoOn, passDeclined } from './declined-upgrade.ts'
import type { Exchange } from '../exchange.ts'
import { ResponseTexts } from './fast/response-text.ts'
import { FastClientConnection, type FastHost } from './fast/fast-connection.ts'

/** Where a front hands over what it took in. */
export interface FrontTarget {
  handle(exchange: Exchange): void
  refuse(exchange: Exchange, status: number, reason: RejectionReason, message: string): void
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void
}

const TOO_MANY = 'too many client connections'

/** A node:http server as front end: sockets in, exchanges out. */
export class HttpFront {
  readonly server: Server
  readonly #limits: FrontOptions
  readonly #target: FrontTarget
  readonly #telemetry: Telemetry
  readonly #connections = new Map<Socket, ClientConnection>()
  readonly #standard: (socket: Socket) => void
  /** Undefined where every connection is node:http's from its first byte. */
  readonly #fast: FastHost | undefined
  readonly #memory: MemoryBudget
  readonly #upgraded = new WeakSet<Socket>()
  /** Responses to offers that were declined, until their request is read once more. */
  readonly #declined = new WeakMap<Socket, IncomingMessage>()
  #draining = false
  #refused: (() => boolean) | undefined
  #onEmpty: (() => void) | undefined

  constructor(
    options: FrontOptions,
    target: FrontTarget,
    telemetry: Telemetry,
    tls: SecureContextOptions | undefined,
    memory = new MemoryBudget(Infinity),
  ) {
    this.#memory = memory
    this.#limits = options
    this.#target = target
    this.#telemetry = telemetry
    const server = createNodeServer(options, tls)
    this.server = server
    this.#fast = tls === undefined && options.engine === 'fast' ? this.#fastHost() : undefined
    // Which connections node:http takes over is decided here.
    const arrival = tls === undefined ? 'connection' : 'secureConnection'
    const [standard] = server.listeners(arrival) as [(socket: Socket) => void]
    this.#standard = standard.bind(server)
    server.removeAllListeners(arrival)
    server.on(arrival, (socket: Socket) => this.#connected(socket))
    server.on('request', (req, res) => this.#request(req, res, false))
    server.on('checkContinue', (req, res) => this.#request(req, res, true))
    server.on('checkExpectation', (req, res) => this.#request(req, res, false))
    server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#upgrade(req, socket, head),
    )
    server.on('connect', (_req: IncomingMessage, socket: Socket) =>
      this.#bad(socket, 405, 'bad_request', 'CONNECT is not for this port'),
    )
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
      this.#clientError(error, socket),
    )
  }

  get connections(): number {
    return this.#connections.size
  }

  refuseWhile(refused: () => boolean): void {
    this.#refused = refused
  }

  sweep(now: number): void {
    for (const exchanges of this.#connections.values()) {
      exchanges.fast?.sweep(now)
      for (let link = exchanges.oldest; link !== undefined; link = link.newer) {
        const { body } = link
        const { bodyTimeout, holdTimeout } = this.#limits
        if (body.whole) continue
        if (body.stalledFor(now) <= bodyTimeout && !body.heldTooLong(now, holdTimeout)) continue
        this.#telemetry.refused('slow_client')
        body.destroy()
      }
    }
  }

  /**
   * No new connections; idle ones end now, others behind the request that came last on them, be it
   * still arriving. Resolves when none is left, upgraded ones included.
   */
  drain(): Promise<void> {
    this.#draining = true
    stopListening(this.server)
    afterReads(() => this.#endAfterLast())
    return new Promise((resolve) => {
      this.#onEmpty = resolve
      if (this.#connections.size === 0) resolve()
    })
  }

  /** Ends each connection behind the last request that has begun to arrive on it. */
  #endAfterLast(): void {
    const waiting = waitingSockets(this.server, this.#connections.keys())
    for (const [socket, connection] of this.#connections) {
      const last = connection.last ?? connection.newest
      if (last !== undefined) {
        last.response.closeAfter()
      } else if (
        !this.#upgraded.has(socket) &&
        (connection.fast !== undefined || socket.bytesRead === 0 || waiting.has(socket))
      ) {
        // A request that crosses with the end could not be answered, so it must not be carried out.
        connection.closing = true
        socket.destroySoon()
      }
    }
  }

  /** Goes on with HTTP behind an upgrade that was declined; false where that cannot be done. */
  decline(req: IncomingMessage, res: IncomingMessage, socket: Socket): boolean {
    const connection = this.#connections.get(socket)
    if (this.#draining || connection?.oldest !== undefined || !canGoOn(req, res)) return false
    this.#upgraded.delete(socket)
    this.#declined.set(socket, res)
    socket.unshift(withoutUpgrade(req))
    this.#standard(socket)
    return true
  }

  close(): void {
    this.#draining = true
    this.server.close()
    this.server.closeAllConnections()
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  #connected(socket: Socket): void {
    if (this.#refused !== undefined) {
      if (this.#refused()) {
        cutSocket(socket, 'rst')
        return
      }
      this.#refused = undefined
    }
    const exchanges = new ClientConnection(this.#memory)
    this.#connections.set(socket, exchanges)
    exchanges.surplus = this.#connections.size > this.#limits.maxConnections
    this.#telemetry.gauge('client_connections', 1)
    socket.once('close', () => {
      this.#connections.delete(socket)
      this.#telemetry.gauge('client_connections', -1)
      for (let link = exchanges.oldest; link !== undefined; link = exchanges.oldest) {
        link.closed()
      }
      if (this.#connections.size === 0) this.#onEmpty?.()
    })
    if (this.#fast === undefined || exchanges.surplus || this.#draining) this.#standard(socket)
    else exchanges.fast = new FastClientConnection(socket, exchanges, this.#fast, performance.now())
  }

  #fastHost(): FastHost {
    return {
      limits: this.#limits,
      texts: new ResponseTexts(this.#limits.clientKeepalive),
      begin: (exchange) => {
        if (this.#draining) exchange.response.closeAfter()
        this.#target.handle(exchange)
      },
      handOver: (socket, connection, bytes) => {
        connection.fast = undefined
        socket.unshift(bytes)
        this.#standard(socket)
        socket.resume()
        setImmediate(stopReading, socket)
      },
      bad: (socket, status, reason, message) => this.#bad(socket, status, reason, message),
    }
  }

  #request(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    const connection = this.#connections.get(req.socket)
    // What a client sends behind a request that ends the connection may be part of that request.
    if (connection === undefined || connection.closing) {
      connection?.ignore(req.socket)
      return
    }
    const exchange = new NodeExchange(req, res, awaitsContinue, connection)
    connection.boundOpen(req.socket)
    if (this.#draining) exchange.response.closeAfter()
    // The client has said that this request is its last one here.
    else if (!res.shouldKeepAlive) connection.closing = true
    const declined = this.#declined.get(req.socket)
    if (declined !== undefined) {
      this.#declined.delete(req.socket)
      passDeclined(declined, exchange)
    } else if (req.httpVersionMajor !== 1) {
      exchange.response.closeAfter()
      const { status, reason, message } = WRONG_VERSION
      this.#target.refuse(exchange, status, reason, message)
    } else if (this.#turnsAway(connection)) {
      exchange.response.closeAfter()
      this.#target.refuse(exchange, 503, 'overload', TOO_MANY)
    } else {
      this.#target.handle(exchange)
    }
  }

  #turnsAway(connection: ClientConnection | undefined): boolean {
    if (connection === undefined || !connection.surplus) return false
    connection.surplus = this.#connections.size > this.#limits.maxConnections
    return connection.surplus
  }

  #upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    if (this.#draining) {
      this.#bad(socket, 503, 'overload', 'shutting down')
    } else if (this.#turnsAway(this.#connections.get(socket))) {
      this.#bad(socket, 503, 'overload', TOO_MANY)
    } else if (req.httpVersionMajor !== 1) {
      const { status, reason, message } = WRONG_VERSION
      this.#bad(socket, status, reason, message)
    } else if (mayBeIgnored(req)) {
      const open = this.#connections.get(socket)?.oldest
      if (open !== undefined) {
        // node:http would lose count of responses that are due: the client asks again elsewhere.
        open.response.closeAfter()
        return
      }
      // The offer may be ignored, and is: the request goes on as the plain HTTP/1.1 that it also is.
      socket.unshift(head)
      socket.unshift(withoutUpgrade(req))
      this.#standard(socket)
    } else {
      const ambiguity = findAmbiguity(requestHead(req))
      if (ambiguity !== undefined) {
        this.#bad(socket, ambiguity.status, 'ambiguous_request', ambiguity.message)
        return
      }
      this.#upgraded.add(socket)
      this.#target.upgrade(req, socket, head)
    }
  }

  #clientError(error: ParserError, socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
    } else if (connection?.closing === true && connection.newest?.body.arrived !== false) {
      // Nothing that comes behind a request that ends the connection is read, be it valid or not.
      if (connection.oldest === undefined) socket.destroySoon()
    } else if (connection === undefined) {
      // The handshake has failed: whatever is said now would wait for it for good.
      const late = error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT'
      this.#telemetry.refused(late ? 'slow_client' : 'bad_request')
      socket.destroy()
    } else {
      const { status, reason, message } = unreadableRequest(error)
      this.#bad(socket, status, reason, message)
    }
  }

  #bad(socket: Socket, status: number, reason: RejectionReason, message: string): void {
    this.#telemetry.refused(reason)
    // What comes behind it is not read, and so not refused once more.
    const connection = this.#connections.get(socket)
    if (connection !== undefined) connection.closing = true
    rejectBadRequest(socket, { status, reason, message })
  }
}

/**
 * Behind bytes that are put back a stream reads on by itself, also where a pause was asked for in the
 * meantime: it is asked for again.
 */
function stopReading(socket: Socket): void {
  if (socket.isPaused()) socket.emit('pause')
}
