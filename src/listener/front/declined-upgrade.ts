import type { IncomingMessage } from 'node:http'
import { renameSquallHeaders } from '../../http/renamed-markers.ts'
import { headerValue } from '../../http/headers.ts'
import type { Exchange } from '../exchange.ts'
import { Relay } from '../relay.ts'

/** A 426 names what to upgrade to in a header that an ordinary response loses. */
const UPGRADE_REQUIRED = 426

/**
 * True when the connection can go on behind this response to an offer: its request ends with its
 * headers, so that the next request begins where it should.
 */
export function canGoOn(req: IncomingMessage, res: IncomingMessage): boolean {
  return (
    req.httpVersion === '1.1' &&
    // A 101 that Node does not take for an upgrade, because it lacks a Connection line.
    (res.statusCode ?? 0) >= 200 &&
    res.statusCode !== UPGRADE_REQUIRED &&
    headerValue(req.rawHeaders, 'content-length') === undefined &&
    headerValue(req.rawHeaders, 'transfer-encoding') === undefined
  )
}

/** Passes the upstream's response to an upgrade that it declined, framed for the client's connection. */
export function passDeclined(res: IncomingMessage, exchange: Exchange): void {
  const relay = new Relay(
    exchange,
    null,
    {
      finished: () => undefined,
      redirected: () => false,
      unanswered: () => exchange.response.cut('rst'),
      blind: () => undefined,
      dropped: () => undefined,
      spent: () => undefined,
    },
    () => 0,
  )
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
  // Behind an end this changes nothing.
  res.once('close', () => relay.fail({ kind: 'closed', message: 'the upstream closed early' }))
}
