import type { IncomingMessage } from 'node:http'

/**
 * True when a request offers HTTP/2 in clear text and nothing else, as Java's client does by default,
 * or offers anything in a form that upgrades are not made in. An offer may be ignored.
 */
export function mayBeIgnored(req: IncomingMessage): boolean {
  if (req.method !== 'GET' || !(req.url ?? '').startsWith('/')) return true
  const offered = (req.headers.upgrade ?? '').split(',').map((name) => name.trim().toLowerCase())
  return offered.every((name) => name === 'h2c' || name === '')
}

/** The same request without its offer, as bytes to be read again. */
export function withoutUpgrade(req: IncomingMessage): Buffer {
  const lines: string[] = []
  const raw = req.rawHeaders
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    if (name === 'upgrade' || name === 'connection' || name === 'http2-settings') continue
    lines.push(raw[i]!, raw[i + 1]!)
  }
  const version = req.httpVersion === '1.0' ? '1.0' : '1.1'
  let text = `${req.method ?? ''} ${req.url ?? ''} HTTP/${version}\r\n`
  for (let i = 0; i + 1 < lines.length; i += 2) text += `${lines[i]!}: ${lines[i + 1]!}\r\n`
  return Buffer.from(`${text}\r\n`, 'latin1')
}
