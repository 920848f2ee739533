import type { IncomingMessage } from 'node:http'
import { headerValues, linesText, linesWithout } from '../../http/headers.ts'
import { requestHead } from './node-exchange.ts'

/**
 * True when a request offers HTTP/2 in clear text and nothing else, as Java's client does by default,
 * or offers anything in a form that upgrades are not made in. An offer may be ignored.
 */
export function mayBeIgnored(req: IncomingMessage): boolean {
  if (req.method !== 'GET' || !(req.url ?? '').startsWith('/')) return true
  const offered = (req.headers.upgrade ?? '').split(',').map((name) => name.trim().toLowerCase())
  return offered.every((name) => name === 'h2c' || name === '')
}

const OFFER = new Set(['upgrade', 'connection', 'http2-settings'])

/** The same request without its offer, as bytes to be read again. */
export function withoutUpgrade(req: IncomingMessage): Buffer {
  const { method, target, version, headers } = requestHead(req)
  const lines = linesWithout(headers, (name) => OFFER.has(name))
  if (/\bclose\b/i.test(headerValues(headers, 'connection').join()))
    lines.push('Connection', 'close')
  return Buffer.from(`${method} ${target} HTTP/${version}\r\n${linesText(lines)}\r\n`, 'latin1')
}
