import { type ClientRequest, type IncomingMessage, Agent as HttpAgent } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type httpProxy from 'http-proxy'
import type { UpstreamAddress } from './address.ts'
import { nameToAskFor } from './connector.ts'
import { httpProxyModule } from './http-proxy-module.ts'
import { keepResponseLines, keepRequestLines } from './tunnel-heads.ts'

/** What becomes of an upgrade. */
export interface TunnelEvents {
  opened(): void
  closed(): void
  /** The app answered: 101, or what it said instead. */
  responded(status: number): void
  /** The upstream declined the upgrade. True takes over the socket, and the response with its body. */
  declined(req: IncomingMessage, res: IncomingMessage, socket: Socket): boolean
  /** The app could not be reached; the client's socket is still open and has got nothing. */
  failed(message: string, socket: Socket): void
  /** The app's side broke in the middle. */
  broken(socket: Socket): void
}

/** http-proxy lets only WebSocket through this pass; any other upgrade is as good. */
const WEBSOCKET_ONLY = 'checkMethodAndHeader'

type Target = NonNullable<httpProxy.ServerOptions['target']>

interface Passes {
  wsPasses: ((...args: unknown[]) => unknown)[]
}

/** The client's socket behind a request for an upgrade. */
interface Carried {
  readonly socket: Socket
  /** Stops counting it. */
  readonly over: () => void
}

function destroyed(this: Socket): void {
  this.destroy()
}

/** Carries upgraded connections (WebSocket and others) to the app, through http-proxy. */
export class Tunnel {
  /** Made for the first upgrade: most sidecars never see one. */
  #proxy: httpProxy | undefined
  readonly #address: UpstreamAddress
  readonly #tls: () => ConnectionOptions
  readonly #events: TunnelEvents
  readonly #open = new Map<IncomingMessage, Carried>()
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
    const over = (): void => this.#over(req)
    this.#open.set(req, { socket, over })
    this.#events.opened()
    socket.once('close', over)
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
      // Node refuses to write some heads that it has read.
      failed(error as Error)
    }
  }

  /** Ends every tunnel. */
  close(): void {
    for (const { socket } of this.#open.values()) socket.destroy()
  }

  /** Undefined where it cannot be loaded now, with every file handle in use: then the socket is answered. */
  #proxyFor(socket: Socket): httpProxy | undefined {
    try {
      this.#proxy ??= this.#createProxy()
      return this.#proxy
    } catch (error) {
      // The message has paths of this machine, which are not for clients.
      const why = (error as NodeJS.ErrnoException).code ?? 'an error of its own'
      this.#events.failed(`http-proxy cannot be loaded: ${why}`, socket)
      return undefined
    }
  }

  #createProxy(): httpProxy {
    const proxy = httpProxyModule().createProxyServer({ xfwd: false, changeOrigin: false })
    const passes = proxy as unknown as Passes
    passes.wsPasses = passes.wsPasses.filter((pass) => pass.name !== WEBSOCKET_ONLY)
    proxy.on('proxyReqWs', (proxyReq, req) => this.#started(proxyReq, req))
    return proxy
  }

  #over(req: IncomingMessage): void {
    if (this.#open.delete(req)) this.#events.closed()
  }

  #started(proxyReq: ClientRequest, req: IncomingMessage): void {
    keepRequestLines(proxyReq, req)
    const { socket, over } = this.#open.get(req)!
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
        socket.off('close', over).off('close', end)
        over()
      })
      return true
    }
    // This runs before http-proxy's own listener, which writes what it finds in the response's headers.
    proxyReq.once('upgrade', responded)
    // By then http-proxy has its listener in place, which would end the client's connection.
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
    const servername = nameToAskFor(address.host, secure)
    const { Agent: HttpsAgent } = process.getBuiltinModule('node:https')
    return new HttpsAgent({ ...secure, servername, keepAlive: false })
  }
}
