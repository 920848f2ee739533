import { type ClientRequest, type IncomingMessage, Agent } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type httpProxy from 'http-proxy'
import type { Failure } from '../http/transfer.ts'
import { ConnectError, type Connector } from './connector.ts'
import { asWebSocket, headOf, keepRequestLines } from './tunnel-heads.ts'

const require = createRequire(import.meta.url)

/** Receives the events of tunnels. */
export interface TunnelEvents {
  opened(): void
  closed(): void
  /** Reports the status of the upstream's response: 101, or another one; 0 when the client left. */
  responded(status: number): void
  /**
   * Reports that the upstream declined the upgrade. True takes over the socket, and the response
   * with its body.
   */
  declined(req: IncomingMessage, res: IncomingMessage, socket: Socket): boolean
  /** Reports that no response came; the client's socket is open and has received nothing. */
  failed(failure: Failure, socket: Socket): void
  /** Reports that the upstream's connection broke after its response. */
  broken(socket: Socket): void
}

/** An upgrade that the upstream has not responded to. */
interface Offer {
  readonly req: IncomingMessage
  readonly socket: Socket
  readonly has: { connected: boolean; responded: boolean }
  readonly failed: (error: Error) => void
  readonly closed: () => void
}

/** The connector decides where connections lead, and by what protocol. */
const TARGET = { host: 'localhost', port: 80 }

/** Classifies an error before the response; once connected, the request may have been sent. */
function failureOf(error: NodeJS.ErrnoException, connected: boolean): Failure {
  const { message, code = '', syscall } = error
  if (!connected || error instanceof ConnectError) return { kind: 'connect', message }
  if (code.startsWith('HPE_')) return { kind: 'protocol', message }
  // Node reports a close (FIN) as ECONNRESET too, but without a system call.
  const wasReset = syscall !== undefined && /^(?:ECONNRESET|EPIPE)$/.test(code)
  return { kind: wasReset ? 'reset' : 'closed', message }
}

/** Reads from a socket that nobody else reads, to notice its end; returns a function that stops. */
function watchEnd(socket: Socket, ended: () => void): () => void {
  const watched: Partial<Pick<Socket, 'push'>> = socket
  watched.push = (chunk: Buffer | null) => {
    if (chunk === null) ended()
    return Readable.prototype.push.call(socket, chunk)
  }
  socket.read(0)
  return () => delete watched.push
}

function destroyed(this: Socket): void {
  this.destroy()
}

/** Carries upgraded connections (WebSocket and others) to the upstream, through http-proxy. */
export class Tunnel {
  readonly #connector: Connector
  readonly #limits: { readonly maxHeaderSize: number }
  readonly #events: TunnelEvents
  readonly #open = new Set<Socket>()

  /** The upstream gets upgrades for `host` instead of the client's. */
  readonly #host: string | undefined

  constructor(
    connector: Connector,
    limits: { readonly maxHeaderSize: number },
    events: TunnelEvents,
    host?: string,
  ) {
    this.#connector = connector
    this.#limits = limits
    this.#events = events
    this.#host = host
  }

  get size(): number {
    return this.#open.size
  }

  /** Takes over a socket whose request asked for an upgrade. */
  carry(req: IncomingMessage, socket: Socket, head: Buffer): void {
    const closed = (): void => {
      if (this.#open.delete(socket)) this.#events.closed()
    }
    this.#open.add(socket)
    this.#events.opened()
    socket.once('close', closed)
    socket.on('error', destroyed)
    const proxy = this.#createProxy(socket)
    if (proxy === undefined) return
    const has = { connected: false, responded: false }
    const failed = (error: Error): void => {
      if (has.responded) return this.#events.broken(socket)
      has.responded = true
      if (!socket.destroyed) this.#events.failed(failureOf(error, has.connected), socket)
    }
    proxy.once('proxyReqWs', (proxyReq: ClientRequest) => {
      keepRequestLines(proxyReq, req, this.#host)
      const { maxHeaderSize } = this.#limits
      Object.assign(proxyReq, { maxHeadersCount: 0, maxHeaderSize })
      this.#offer(proxyReq, { req, socket, has, failed, closed })
    })
    const options = { target: TARGET, agent: this.#agent(socket), toProxy: true }
    try {
      proxy.ws(asWebSocket(req), socket, head, options, failed)
    } catch (error) {
      // Node rejects some heads on writing that it accepted on reading.
      failed(error as Error)
    }
  }

  /** Waits for the response to an offer, or for the end of its client. */
  #offer(proxyReq: ClientRequest, { req, socket, has, failed, closed }: Offer): void {
    const left = (): void => {
      if (!has.responded) this.#events.responded(0)
      has.responded = true
      proxyReq.destroy()
    }
    socket.once('close', left)
    const unwatch = watchEnd(socket, () => socket.destroy())
    const respond = (res: IncomingMessage): void => {
      has.responded = true
      unwatch()
      this.#events.responded(res.statusCode ?? 0)
    }
    // By then http-proxy has added its own listeners, which would change the head.
    proxyReq.once('socket', () => {
      has.connected = true
      proxyReq.removeAllListeners('upgrade').once('upgrade', (res, upstream, first) => {
        respond(res)
        join(socket, upstream.on('error', failed), headOf(res), first)
      })
      proxyReq.removeAllListeners('response').once('response', (res: IncomingMessage) => {
        respond(res)
        if (!this.#events.declined(req, res, socket)) return this.#passDeclined(res, socket)
        socket.off('error', destroyed)
        res.once('close', () => {
          socket.off('close', closed).off('close', left)
          closed()
        })
      })
    })
  }

  close(): void {
    for (const socket of this.#open) socket.destroy()
  }

  /**
   * Returns undefined, and reports the failure, when http-proxy cannot be loaded (no free file
   * handle).
   */
  #createProxy(socket: Socket): httpProxy | undefined {
    try {
      // Loaded synchronously: no event of the waiting socket may be lost meanwhile.
      const library = require('http-proxy') as typeof httpProxy
      return library.createProxyServer()
    } catch (error) {
      // Clients must not see the message, which contains local paths.
      const why = (error as NodeJS.ErrnoException).code ?? 'unknown error'
      const message = `http-proxy cannot be loaded: ${why}`
      this.#events.failed({ kind: 'connect', message }, socket)
      return undefined
    }
  }

  /** Passes an ordinary response; the end of the connection ends its body. */
  #passDeclined(res: IncomingMessage, socket: Socket): void {
    res.on('error', () => undefined)
    res.once('close', () => res.complete || this.#events.broken(socket))
    socket.write(headOf(res), 'latin1')
    res.pipe(socket)
  }

  /** Returns a fresh agent, so that swapped certificates are used by the next tunnel. */
  #agent(client: Socket): Agent {
    const agent = new Agent({ keepAlive: false })
    agent.createConnection = (_, done) => {
      const giveUp = (): void => void dialled.destroy()
      const dialled = this.#connector((error, upstream) => {
        client.off('close', giveUp)
        done?.(error, upstream!)
      })
      client.once('close', giveUp)
      return undefined
    }
    return agent
  }
}

/** Carries bytes both ways, behind the head of the upstream's response and its first bytes. */
function join(client: Socket, upstream: Socket, head: string, first: Buffer): void {
  // Only the end of a stream passes through a pipe.
  client.once('close', () => client.readableEnded || upstream.destroy())
  if (first.length > 0) upstream.unshift(first)
  client.write(head, 'latin1')
  upstream.pipe(client).pipe(upstream)
}
