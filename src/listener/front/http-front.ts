import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { afterReads } from '../../base/after-reads.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { findAmbiguity } from '../../http/ambiguity.ts'
import { cutSocket } from './cut-socket.ts'
import { rejectBadRequest } from './bad-request.ts'
import type { FrontOptions } from './front-options.ts'
import { NodeExchange, requestHead } from './node-exchange.ts'
import { createNodeServer } from './node-server.ts'
import { stopListening, waitingSockets } from './drain.ts'
import { ClientConnection } from './client-connection.ts'
import { pacedParser } from './paced-input.ts'
import { type ParserError, WRONG_VERSION, unreadableRequest } from './unreadable-request.ts'
import { MemoryBudget } from '../memory-budget.ts'
import type { Rejection } from '../rejection.ts'
import { canContinue, mayBeIgnored, relayDeclined, withoutUpgrade } from './upgrade-offer.ts'
import type { Received } from '../layers/received.ts'
import { ResponseTexts } from './fast/fast-response.ts'
import { FastClientConnection, type FastConnectionOwner } from './fast/fast-connection.ts'

/** Receives the exchanges and upgrades of a front. */
export interface FrontTarget extends Received {
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void
}

const TOO_MANY: Rejection = {
  status: 503,
  reason: 'overload',
  message: 'too many client connections',
}
const SHUTTING_DOWN: Rejection = { status: 503, reason: 'overload', message: 'shutting down' }
const NO_CONNECT: Rejection = {
  status: 405,
  reason: 'bad_request',
  message: 'CONNECT is not supported on this port',
}

/** Accepts connections and turns their requests into exchanges. */
export class HttpFront {
  readonly server: Server
  readonly #limits: FrontOptions
  readonly #target: FrontTarget
  readonly #telemetry: Telemetry
  readonly #connections = new Map<Socket, ClientConnection>()
  readonly #standard: (socket: Socket) => void
  /** Undefined when node:http reads every connection from its first byte. */
  readonly #fast: FastConnectionOwner | undefined
  readonly #memory: MemoryBudget
  /** Responses to declined offers, until their requests are read again. */
  readonly #declined = new WeakMap<Socket, IncomingMessage>()
  #draining = false
  #isDown: (() => boolean) | undefined
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
    this.#fast = tls === undefined && options.engine === 'fast' ? this.#fastOwner() : undefined
    // The front decides which connections node:http reads.
    const arrival = tls === undefined ? 'connection' : 'secureConnection'
    const [standard] = server.listeners(arrival) as [(socket: Socket) => void]
    this.#standard = standard.bind(server)
    server.removeAllListeners(arrival)
    server.on(arrival, (socket: Socket) => {
      // As without TLS; before the handshake it would keep probes open.
      socket.allowHalfOpen = true
      this.#connected(socket)
    })
    server.on('request', (req, res) => this.#request(req, res, false))
    server.on('checkContinue', (req, res) => this.#request(req, res, true))
    server.on('checkExpectation', (req, res) => this.#request(req, res, false))
    server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#upgrade(req, socket, head),
    )
    server.on('connect', (_req: IncomingMessage, socket: Socket) =>
      this.#rejectSocket(socket, NO_CONNECT),
    )
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#expired(socket, error)
      else this.#clientError(error, socket)
    })
    server.on('timeout', (socket: Socket) => this.#expired(socket))
  }

  /** Resets new connections while `isDown` returns true. */
  resetWhile(isDown: () => boolean): void {
    this.#isDown = isDown
  }

  sweep(now: number): void {
    for (const [socket, exchanges] of this.#connections) {
      if (socket.destroyed) continue
      exchanges.fast?.sweep(now)
      for (let link = exchanges.oldest; link !== undefined; link = link.newer) {
        if (!link.isSlow(now, this.#limits)) continue
        this.#telemetry.rejected('slow_client')
        socket.destroy()
      }
    }
  }

  /**
   * Accepts what waits; then ends idle connections, and others after their last request, which may
   * still be arriving. Resolves when all connections have ended, with upgraded ones.
   */
  async drain(): Promise<void> {
    this.#draining = true
    await stopListening(this.server)
    afterReads(() => this.#endAfterLast())
    return new Promise((resolve) => {
      this.#onEmpty = resolve
      if (this.#connections.size === 0) resolve()
    })
  }

  /** Ends each connection after the last request that has begun to arrive. */
  #endAfterLast(): void {
    const waiting = waitingSockets(this.server, this.#connections.keys())
    for (const [socket, connection] of this.#connections) {
      const last = connection.last ?? connection.newest
      if (last !== undefined) {
        last.response.closeAfter()
      } else if (
        connection.input !== undefined &&
        (connection.fast !== undefined || socket.bytesRead === 0 || waiting.has(socket))
      ) {
        // A request that arrives now would get no response, so it must not reach the upstream.
        connection.closing = true
        socket.destroySoon()
      }
    }
  }

  /** Continues with HTTP after a declined upgrade; returns false when that is impossible. */
  decline(req: IncomingMessage, res: IncomingMessage, socket: Socket): boolean {
    const connection = this.#connections.get(socket)
    if (connection === undefined || connection.oldest !== undefined) return false
    if (this.#draining || !canContinue(req, res)) return false
    this.#declined.set(socket, res)
    this.#parse(socket, connection, withoutUpgrade(req))
    return true
  }

  close(): void {
    this.#draining = true
    this.server.close()
    this.server.closeAllConnections()
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  #connected(socket: Socket): void {
    if (this.#isDown !== undefined) {
      if (this.#isDown()) {
        cutSocket(socket, 'rst')
        return
      }
      this.#isDown = undefined
    }
    const exchanges = new ClientConnection(this.#memory)
    this.#connections.set(socket, exchanges)
    exchanges.surplus = this.#connections.size > this.#limits.maxConnections
    this.#telemetry.gauge('client_connections', 1)
    socket.once('close', () => {
      this.#connections.delete(socket)
      this.#telemetry.gauge('client_connections', -1)
      exchanges.closed(() => {
        if (this.#connections.size === 0) this.#onEmpty?.()
      })
    })
    if (this.#fast === undefined || exchanges.surplus || this.#draining)
      this.#parse(socket, exchanges)
    else exchanges.fast = new FastClientConnection(socket, exchanges, this.#fast, performance.now())
  }

  #fastOwner(): FastConnectionOwner {
    return {
      limits: this.#limits,
      texts: new ResponseTexts(this.#limits.clientKeepalive),
      begin: (exchange) => {
        if (this.#draining) exchange.response.closeAfter()
        this.#target.handle(exchange)
      },
      handOver: (socket, connection, bytes) => {
        connection.fast = undefined
        this.#parse(socket, connection, bytes)
      },
      reject: (socket, rejection) => this.#rejectSocket(socket, rejection),
    }
  }

  /** Lets node:http read a connection, these bytes first. */
  #parse(socket: Socket, connection: ClientConnection, bytes?: Buffer): void {
    this.#standard(socket)
    connection.input = pacedParser(socket, connection)
    if (bytes !== undefined) connection.input.push(bytes)
  }

  #request(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    const connection = this.#connections.get(req.socket)
    // Bytes behind a request that ends the connection may be part of that request.
    if (connection === undefined || connection.closing) {
      connection?.ignore()
      return
    }
    connection.requests++
    const exchange = new NodeExchange(req, res, awaitsContinue, connection)
    if (this.#draining) exchange.response.closeAfter()
    // The client announced this request as its last.
    else if (!res.shouldKeepAlive) connection.closing = true
    const declined = this.#declined.get(req.socket)
    if (declined !== undefined) {
      this.#declined.delete(req.socket)
      relayDeclined(declined, this.#target.relay(exchange))
    } else if (req.httpVersionMajor !== 1) {
      exchange.response.closeAfter()
      this.#target.reject(exchange, WRONG_VERSION)
    } else if (this.#isOverload(connection)) {
      exchange.response.closeAfter()
      this.#target.reject(exchange, TOO_MANY)
    } else {
      this.#target.handle(exchange)
    }
  }

  #isOverload(connection: ClientConnection | undefined): boolean {
    if (connection === undefined || !connection.surplus) return false
    connection.surplus = this.#connections.size > this.#limits.maxConnections
    return connection.surplus
  }

  #upgrade(req: IncomingMessage, socket: Socket, first: Buffer): void {
    const connection = this.#connections.get(socket)
    const behind = connection?.input?.release()
    if (connection !== undefined) connection.input = undefined
    const head = behind === undefined ? first : Buffer.concat([first, behind])
    if (this.#draining) {
      this.#rejectSocket(socket, SHUTTING_DOWN)
    } else if (this.#isOverload(connection)) {
      this.#rejectSocket(socket, TOO_MANY)
    } else if (req.httpVersionMajor !== 1) {
      this.#rejectSocket(socket, WRONG_VERSION)
    } else if (mayBeIgnored(req)) {
      const open = connection?.oldest
      if (open !== undefined) {
        // node:http would lose track of open responses: the client retries on a new connection.
        open.response.closeAfter()
        return
      }
      // The offer is ignored: the request continues as plain HTTP/1.1.
      const bytes = Buffer.concat([withoutUpgrade(req), head])
      if (connection !== undefined) this.#parse(socket, connection, bytes)
    } else {
      const ambiguity = findAmbiguity(requestHead(req))
      if (ambiguity !== undefined) {
        this.#rejectSocket(socket, { ...ambiguity, reason: 'ambiguous_request' })
        return
      }
      this.#target.upgrade(req, socket, head)
    }
  }

  /** Ends a connection whose time has passed, unless a request is among the bytes that wait. */
  #expired(socket: Socket, error?: ParserError): void {
    const { bytesRead } = socket
    const connection = this.#connections.get(socket)
    const requests = connection?.requests
    // After a pause of the process, timers come before the bytes that arrived meanwhile.
    afterReads(() => {
      if (connection?.requests !== requests || socket.destroyed) return
      if (error !== undefined) this.#clientError(error, socket)
      else if (socket.bytesRead === bytesRead) socket.destroy()
    })
  }

  #clientError(error: ParserError, socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (error.code === 'ECONNRESET') {
      socket.destroy()
    } else if (connection === undefined) {
      // The TLS handshake failed, so no response can be sent.
      const late = error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT'
      this.#telemetry.rejected(late ? 'slow_client' : 'bad_request')
      socket.destroy()
    } else if (!socket.writable) {
      socket.destroy()
    } else if (connection.closing && connection.newest?.body.arrived !== false) {
      // Bytes behind a request that ends the connection are not read, valid or not.
      if (connection.oldest === undefined) socket.destroySoon()
    } else {
      this.#rejectSocket(socket, unreadableRequest(error))
    }
  }

  #rejectSocket(socket: Socket, rejection: Rejection): void {
    const connection = this.#connections.get(socket)
    const open = connection?.newest
    if (open?.body.arrived === false && !open.response.started) {
      open.response.closeAfter()
      open.listener?.gone(rejection)
      // A client that has ended its side has left the calls before this one, too.
      if (socket.readableEnded && connection?.oldest !== undefined) socket.destroySoon()
      return
    }
    this.#telemetry.rejected(rejection.reason)
    // Later bytes are not read, so that they are not rejected again.
    if (connection !== undefined) connection.closing = true
    rejectBadRequest(socket, rejection)
  }
}
