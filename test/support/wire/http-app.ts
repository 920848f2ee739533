import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, ListenOptions, Server as NetServer, Socket } from 'node:net'

/** An ordinary HTTP app, or another server of Node. */
export interface HttpApp<S extends NetServer = Server> {
  readonly server: S
  readonly port: number
  readonly url: string
  /** Stops listening and cuts what is open. */
  readonly close: () => Promise<void>
}

/** Starts an upstream on loopback, or at `place`; with TLS when `tls` is given. */
export function httpServer(
  listener: RequestListener,
  place?: ListenOptions,
  tls?: ServerOptions,
): Promise<HttpApp> {
  if (tls === undefined) return listening(createServer(listener), place)
  return listening(createTlsServer(tls, listener), place, 'https')
}

/** Lets a server listen on a free port of loopback, or at `place`. */
export async function listening<S extends NetServer>(
  server: S,
  place: ListenOptions = { host: '127.0.0.1', port: 0 },
  scheme = 'http',
): Promise<HttpApp<S>> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(place)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'string' ? 0 : (address as AddressInfo).port
  return {
    server,
    port,
    url: `${scheme}://127.0.0.1:${port}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Responds to every call with a result that holds `text`, and records the requests. */
export function responding(text: string): RequestListener {
  return (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const body = Buffer.concat(parts).toString()
      const { id = null } = body === '' ? {} : (JSON.parse(body) as { id?: unknown })
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }))
    })
  }
}
