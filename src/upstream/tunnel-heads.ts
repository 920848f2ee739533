import type { ClientRequest, IncomingMessage } from 'node:http'
import { renameSquallHeaders } from '../http/renamed-markers.ts'

/** Matches as Node does. */
const CHUNKED = /(?:^|\W)chunked(?:$|\W)/i

/**
 * Sends the client's own request line and header lines instead of http-proxy's, which lower-cases names,
 * merges repeats and folds double slashes.
 */
export function keepRequestLines(proxyReq: ClientRequest, req: IncomingMessage): void {
  proxyReq.path = req.url ?? '/'
  for (const name of proxyReq.getHeaderNames()) proxyReq.removeHeader(name)
  const isChunked = CHUNKED.test(req.headers['transfer-encoding'] ?? '')
  for (const [name, values] of grouped(req.rawHeaders)) {
    const known = name.toLowerCase()
    // Node waits after `expect`, and throws for `trailer` where no trailers can follow.
    if (known === 'expect' || (known === 'trailer' && !isChunked)) continue
    proxyReq.setHeader(name, values.length === 1 ? values[0]! : values)
  }
}

/**
 * Gives http-proxy the app's own header lines to write. Where the app declined the upgrade with an ordinary
 * response, the end of the connection ends its body, because Node's parser has removed the framing.
 */
export function keepResponseLines(res: IncomingMessage): void {
  const headers = Object.fromEntries(grouped(renameSquallHeaders(res.rawHeaders)))
  if (res.statusCode !== 101) {
    for (const name of Object.keys(headers)) {
      if (/^(?:transfer-encoding|connection|keep-alive)$/i.test(name)) delete headers[name]
    }
    headers['Connection'] = ['close']
  }
  Object.defineProperty(res, 'headers', { value: headers })
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
