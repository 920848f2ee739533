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

/**
 * Returns the head of a response to an upgrade. The end of the connection ends the body of an
 * ordinary response, because Node's parser has removed the framing. A 101 that Node takes for such
 * a response keeps its lines.
 */
export function headOf({ rawHeaders, statusCode, statusMessage }: IncomingMessage): string {
  const isDeclined = statusCode !== 101
  const raw = renameSquallHeaders(rawHeaders)
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const isFraming = /^(?:transfer-encoding|connection|keep-alive)$/i.test(raw[i]!)
    if (!isDeclined || !isFraming) text += `${raw[i]}: ${raw[i + 1]}\r\n`
  }
  return `${text}${isDeclined ? 'Connection: close\r\n' : ''}\r\n`
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
