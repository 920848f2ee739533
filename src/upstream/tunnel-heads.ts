import type { ClientRequest, IncomingMessage } from 'node:http'
import { renameSquallHeaders } from '../http/renamed-markers.ts'

/** Matches as Node does. */
const CHUNKED = /(?:^|\W)chunked(?:$|\W)/i

/** Shows any upgrade to http-proxy as a WebSocket's: http-proxy refuses all others. */
export function asWebSocket(req: IncomingMessage): IncomingMessage {
  const headers = { connection: 'upgrade', upgrade: 'websocket' }
  return Object.create(req, { headers: { value: headers } }) as IncomingMessage
}

/**
 * Sends the client's own request line and header lines instead of http-proxy's, which lower-cases
 * names, merges repeats and folds double slashes. `host` replaces the host.
 */
export function keepRequestLines(
  proxyReq: ClientRequest,
  req: IncomingMessage,
  host?: string,
): void {
  proxyReq.path = req.url ?? '/'
  for (const name of proxyReq.getHeaderNames()) proxyReq.removeHeader(name)
  const isChunked = CHUNKED.test(req.headers['transfer-encoding'] ?? '')
  for (const [name, values] of grouped(req.rawHeaders)) {
    const known = name.toLowerCase()
    // Node waits after `expect`, and throws for `trailer` where no trailers can follow.
    if (known === 'expect' || (known === 'trailer' && !isChunked)) continue
    const lines = values.length === 1 ? values[0]! : values
    proxyReq.setHeader(name, known === 'host' ? (host ?? lines) : lines)
  }
}

/** Returns the upstream's own header lines by name, in the shape that http-proxy writes. */
export function linesOf(res: IncomingMessage): Record<string, string[]> {
  return Object.fromEntries(grouped(renameSquallHeaders(res.rawHeaders)))
}

/**
 * Returns the head of an ordinary response to an upgrade. The end of the connection ends its body,
 * because Node's parser has removed the framing. A 101 that Node takes for such a response keeps
 * its lines.
 */
export function declinedHead(res: IncomingMessage): string {
  const lines = linesOf(res)
  if (res.statusCode !== 101) {
    for (const name of Object.keys(lines)) {
      if (/^(?:transfer-encoding|connection|keep-alive)$/i.test(name)) delete lines[name]
    }
    lines['Connection'] = ['close']
  }
  const text = Object.entries(lines).flatMap(([name, values]) =>
    values.map((value) => `${name}: ${value}\r\n`),
  )
  return `HTTP/1.1 ${res.statusCode} ${res.statusMessage}\r\n${text.join('')}\r\n`
}

function grouped(raw: readonly string[]): Map<string, string[]> {
  const names = new Map<string, string>()
  const lines = new Map<string, string[]>()
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const key = raw[i]!.toLowerCase()
    const name = names.get(key) ?? raw[i]!
    names.set(key, name)
    const values = lines.get(name)
    if (values === undefined) lines.set(name, [raw[i + 1]!])
    else values.push(raw[i + 1]!)
  }
  return lines
}
