import { type ClientRequest, type IncomingMessage, Agent as HttpAgent } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type httpProxy from 'http-proxy'
import type { Failure } from '../http/transfer.ts'
import type { UpstreamAddress } from './address.ts'
import { serverNameFor } from './connector.ts'
import { asWebSocket, declinedHead, keepRequestLines, linesOf } from './tunnel-heads.ts'

const require = createRequire(import.meta.url)

/** Receives the events of tunnels. */
export interface TunnelEvents {
  opened(): void
  closed(): void
  /** Reports the status of the upstream's response: 101, or another one. */
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

type Target = NonNullable<httpProxy.ServerOptions['target']>

/** Classifies an error before the response; once connected, the request may have been sent. */
function failureOf(error: NodeJS.ErrnoException, connected: boolean): Failure {
  const { message, code = '', syscall } = error
  if (!connected) return { kind: 'connect', message }
  if (code.startsWith('HPE_')) return { kind: 'protocol', message }
  // Node reports a close (FIN) as ECONNRESET too, but without a system call.
  return {
    kind: syscall !== undefined && /^(?:ECONNRESET|EPIPE)$/.test(code) ? 'reset' : 'closed',
    message,
  }
}

function onceConnected(socket: Socket, connected: () => void): void {
  socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
}

function destroyed(this: Socket): void {
  this.destroy()
}

/** Carries upgraded connections (WebSocket and others) to the upstream, through http-proxy. */
export class Tunnel {
  readonly #address: UpstreamAddress
  readonly #tls: () => ConnectionOptions
  readonly #events: TunnelEvents
  readonly #open = new Set<Socket>()

  /** The upstream gets upgrades for `host` instead of the client's. */
  readonly #host: string | undefined

  constructor(
    address: UpstreamAddress,
    tls: () => ConnectionOptions,
    events: TunnelEvents,
    host?: string,
  ) {
    this.#host = host
    this.#address = address
    this.#tls = tls
    this.#events = events
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
    const respond = (res: IncomingMessage): void => {
      has.responded = true
      this.#events.responded(res.statusCode ?? 0)
    }
    const failed = (error: Error): void => {
      if (has.responded) this.#events.broken(socket)
      else if (!socket.destroyed) this.#events.failed(failureOf(error, has.connected), socket)
    }
    proxy.once('proxyReqWs', (proxyReq: ClientRequest) => {
      keepRequestLines(proxyReq, req, this.#host)
      const end = (): void => void proxyReq.destroy()
      socket.once('close', end)
      // Added before http-proxy's own listener, which writes the response's headers.
      proxyReq.once('upgrade', (res: IncomingMessage) => {
        res.headers = linesOf(res)
        respond(res)
      })
      // By then http-proxy has added its own listener, which would end the client's connection.
      proxyReq.once('socket', (upstream) => {
        onceConnected(upstream, () => (has.connected = true))
        proxyReq.removeAllListeners('response').once('response', (res: IncomingMessage) => {
          respond(res)
          if (!this.#events.declined(req, res, socket)) return this.#passDeclined(res, socket)
          socket.off('error', destroyed)
          res.once('close', () => {
            socket.off('close', closed).off('close', end)
            closed()
          })
        })
      })
    })
    const options = { target: this.#target(), agent: this.#agent(), toProxy: true }
    try {
      proxy.ws(asWebSocket(req), socket, head, options, failed)
    } catch (error) {
      // Node rejects some heads on writing that it accepted on reading.
      failed(error as Error)
    }
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
    socket.write(declinedHead(res), 'latin1')
    res.pipe(socket)
  }

  #target(): Target {
    const address = this.#address
    if (address.kind === 'unix') {
      return { host: 'localhost', port: 80, socketPath: address.path }
    }
    const { host, port, tls } = address
    return { host, port, protocol: tls ? 'https:' : 'http:' }
  }

  /** A fresh agent, so that swapped certificates are used by the next tunnel. */
  #agent(): HttpAgent {
    const address = this.#address
    if (address.kind !== 'tcp' || !address.tls) return new HttpAgent({ keepAlive: false })
    const secure = this.#tls()
    // Without a name Node would ask for the one in the client's Host header.
    const servername = serverNameFor(address.host, secure)
    const { Agent: HttpsAgent } = process.getBuiltinModule('node:https')
    return new HttpsAgent({ ...secure, servername, keepAlive: false })
  }
}
