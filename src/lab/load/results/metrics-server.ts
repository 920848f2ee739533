import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { isTrustedHost } from '../../../http/trusted-host.ts'
import { CONTENT_TYPE } from '../../../telemetry/prom-registry.ts'

/** Where a load that goes on can be scraped. */
export interface MetricsServer {
  readonly address: string
  close(): Promise<void>
}

/**
 * Serves `/metrics`, by addresses, names that no web page can have, and `hosts`. Rejects when the
 * address cannot be bound.
 */
export async function serveMetrics(
  place: ListenOptions,
  page: () => string,
  hosts: readonly string[] = [],
): Promise<MetricsServer> {
  const server = createServer(
    { maxHeaderSize: 16_384, requestTimeout: 10_000 },
    (request, response) => {
      const known = request.url?.split('?')[0] === '/metrics'
      if (!known || (request.method !== 'GET' && request.method !== 'HEAD')) {
        response.writeHead(known ? 405 : 404).end()
        return
      }
      if (!isTrustedHost(request.headers.host, hosts)) {
        response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' })
        response.end('not by this name: ask by address, or add the name to --metrics-hosts\n')
        return
      }
      response.writeHead(200, { 'content-type': CONTENT_TYPE.prometheus })
      response.end(request.method === 'HEAD' ? undefined : page())
    },
  )
  server.maxConnections = 100
  server.listen(place)
  await once(server, 'listening')
  // The load ends when it is done, whoever scrapes it.
  server.unref()
  return {
    address: shown(server.address()),
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function shown(address: AddressInfo | string | null): string {
  if (typeof address === 'string' || address === null) return `unix:${address ?? ''}`
  const { address: host, port, family } = address
  return family === 'IPv6' ? `[${host}]:${port}` : `${host}:${port}`
}
