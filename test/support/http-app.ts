import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, ListenOptions } from 'node:net'

/** An ordinary HTTP app. */
export interface HttpApp {
  readonly server: Server
  readonly port: number
  readonly url: string
  close(): Promise<void>
}

/** Starts an app on loopback, or at `place`; with TLS when `tls` is given. */
export async function httpServer(
  listener: RequestListener,
  place: ListenOptions = { host: '127.0.0.1', port: 0 },
  tls?: ServerOptions,
): Promise<HttpApp> {
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.listen(place)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'string' ? 0 : (address as AddressInfo).port
  return {
    server,
    port,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      server.closeAllConnections()
      await closed
    },
  }
}

/** Answers every call with a result that holds `text`, and says what it was asked. */
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
