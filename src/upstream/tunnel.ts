import { type ClientRequest, type IncomingMessage, Agent as HttpAgent } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type httpProxy from 'http-proxy'
import type { UpstreamAddress } from './address.ts'
import { serverNameFor } from './connector.ts'
import { keepResponseLines, keepRequestLines } from './tunnel-heads.ts'

const require = createRequire(import.meta.url)

/** Receives the events of tunnels. */
export interface TunnelEvents {
  opened(): void
  closed(): void
  /** Reports the status of the app's response: 101, or another one. */
  responded(status: number): void
  /** Reports that the app declined the upgrade. True takes over the socket, and the response with its body. */
  declined(req: IncomingMessage, res: IncomingMessage, socket: Socket): boolean
  /** Reports that the app could not be reached; the client's socket is open and has received nothing. */
  failed(message: string, socket: Socket): void
  /** Reports that the app's connection broke after its response. */
  broken(socket: Socket): void
}

/** The http-proxy pass that accepts WebSocket only; it is removed so that any upgrade passes. */
const WEBSOCKET_ONLY = 'checkMethodAndHeader'

type Target = NonNullable<httpProxy.ServerOptions['target']>

interface Passes {
  wsPasses: ((...args: unknown[]) => unknown)[]
}

/** Holds the client's socket of an upgrade; `closed` ends the count of the tunnel. */
interface OpenTunnel {
  readonly socket: Socket
  readonly closed: () => void
}

function destroyed(this: Socket): void {
  this.destroy()
}

/** Carries upgraded connections (WebSocket and others) to the app, through http-proxy. */
export class Tunnel {
  /** Created with the first upgrade: most sidecars never see one. */
  #proxy: httpProxy | undefined
  readonly #address: UpstreamAddress
  readonly #tls: () => ConnectionOptions
  readonly #events: TunnelEvents
  readonly #open = new Map<IncomingMessage, OpenTunnel>()
  readonly #responded = new WeakSet<IncomingMessage>()

  constructor(address: UpstreamAddress, tls: () => ConnectionOptions, events: TunnelEvents) {
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
      if (this.#open.delete(req)) this.#events.closed()
    }
    this.#open.set(req, { socket, closed })
    this.#events.opened()
    socket.once('close', closed)
    socket.on('error', destroyed)
    const proxy = this.#proxyFor(socket)
    if (proxy === undefined) return
    const options = { target: this.#target(), agent: this.#agent(), toProxy: true }
    const failed = (error: Error): void => {
      if (this.#responded.has(req)) this.#events.broken(socket)
      else if (!socket.destroyed) this.#events.failed(error.message, socket)
    }
    try {
      proxy.ws(req, socket, head, options, failed)
    } catch (error) {
      // Node rejects some heads on writing that it accepted on reading.
      failed(error as Error)
    }
  }

  close(): void {
    for (const { socket } of this.#open.values()) socket.destroy()
  }

  /** Returns undefined, and reports the failure, when http-proxy cannot be loaded (no free file handle). */
  #proxyFor(socket: Socket): httpProxy | undefined {
    try {
      this.#proxy ??= this.#createProxy()
      return this.#proxy
    } catch (error) {
      // Clients must not see the message, which contains local paths.
      const why = (error as NodeJS.ErrnoException).code ?? 'unknown error'
      this.#events.failed(`http-proxy cannot be loaded: ${why}`, socket)
      return undefined
    }
  }

  #createProxy(): httpProxy {
    // Loaded synchronously: no event of the waiting socket may be lost meanwhile.
    const library = require('http-proxy') as typeof httpProxy
    const proxy = library.createProxyServer({ xfwd: false, changeOrigin: false })
    const passes = proxy as unknown as Passes
    passes.wsPasses = passes.wsPasses.filter((pass) => pass.name !== WEBSOCKET_ONLY)
    proxy.on('proxyReqWs', (proxyReq, req) => this.#started(proxyReq, req))
    return proxy
  }

  #started(proxyReq: ClientRequest, req: IncomingMessage): void {
    keepRequestLines(proxyReq, req)
    const { socket, closed } = this.#open.get(req)!
    const end = (): void => void proxyReq.destroy()
    socket.once('close', end)
    const responded = (res: IncomingMessage): void => {
      this.#responded.add(req)
      keepResponseLines(res)
      this.#events.responded(res.statusCode ?? 0)
    }
    const declined = (res: IncomingMessage): boolean => {
      responded(res)
      if (!this.#events.declined(req, res, socket)) return false
      socket.off('error', destroyed)
      res.once('close', () => {
        socket.off('close', closed).off('close', end)
        closed()
      })
      return true
    }
    // This runs before http-proxy's own listener, which writes the response's headers.
    proxyReq.once('upgrade', responded)
    // Now http-proxy has added its listener, which would end the client's connection.
    proxyReq.once('socket', () => {
      const [pass] = proxyReq.listeners('response')
      proxyReq.removeAllListeners('response')
      proxyReq.once('response', (res: IncomingMessage) => declined(res) || pass?.(res))
    })
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
