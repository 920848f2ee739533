import type { IncomingMessage } from 'node:http'
import { renameSquallHeaders } from '../../http/renamed-markers.ts'
import { headerValue, headerValues, linesText, linesWithout } from '../../http/headers.ts'
import { requestHead } from './node-exchange.ts'
import type { Relay } from '../relay.ts'

/** The status whose Upgrade header an ordinary response would lose. */
const UPGRADE_REQUIRED = 426

/**
 * Returns true when the connection can be used after this response to an offer: the request has no
 * body, so that the next request begins behind its headers.
 */
export function canContinue(req: IncomingMessage, res: IncomingMessage): boolean {
  return (
    req.httpVersion === '1.1' &&
    // Node passes on a 101 without a Connection header as a response.
    (res.statusCode ?? 0) >= 200 &&
    res.statusCode !== UPGRADE_REQUIRED &&
    headerValue(req.rawHeaders, 'content-length') === undefined &&
    headerValue(req.rawHeaders, 'transfer-encoding') === undefined
  )
}

/** Relays the upstream's response to a declined upgrade, framed for the client's connection. */
export function relayDeclined(res: IncomingMessage, relay: Relay): void {
  relay.attach({ resume: () => res.resume(), abort: () => res.destroy() })
  relay.head({
    status: res.statusCode ?? 0,
    reason: res.statusMessage ?? '',
    headers: renameSquallHeaders(res.rawHeaders),
  })
  res.on('data', (chunk: Buffer) => {
    if (!relay.data(chunk)) res.pause()
  })
  res.once('end', () => relay.end(res.rawTrailers))
  res.on('error', () => undefined)
  // Has no effect after `end`.
  res.once('close', () => relay.fail({ kind: 'closed', message: 'the upstream closed early' }))
}

/**
 * Returns true for an offer that may be ignored: only HTTP/2 in clear text, as Java's client sends
 * by default, or a request that cannot be upgraded.
 */
export function mayBeIgnored(req: IncomingMessage): boolean {
  if (req.method !== 'GET' || !(req.url ?? '').startsWith('/')) return true
  const offered = (req.headers.upgrade ?? '').split(',').map((name) => name.trim().toLowerCase())
  return offered.every((name) => name === 'h2c' || name === '')
}

const OFFER = new Set(['upgrade', 'connection', 'http2-settings'])

/** Encodes the request without its offer, to be read again. */
export function withoutUpgrade(req: IncomingMessage): Buffer {
  const { method, target, version, headers } = requestHead(req)
  const lines = linesWithout(headers, (name) => OFFER.has(name))
  if (/\bclose\b/i.test(headerValues(headers, 'connection').join()))
    lines.push('Connection', 'close')
  return Buffer.from(`${method} ${target} HTTP/${version}\r\n${linesText(lines)}\r\n`, 'latin1')
}
