import { formatListen } from '../http/address.ts'
import type { HeaderLines } from '../http/headers.ts'
import type { Upstream } from '../http/transfer.ts'
import type { UpstreamAddress } from './address.ts'

/** Wraps an upstream so that it gets requests for its own name instead of that of the listener. */
export function outboundUpstream(upstream: Upstream, host: string): Upstream {
  return {
    send: (head, body, sink) =>
      upstream.send({ ...head, headers: withHost(head.headers, host) }, body, sink),
  }
}

/** Returns the value of `Host` for an address; undefined for a Unix socket. */
export function authorityOf(address: UpstreamAddress): string | undefined {
  if (address.kind === 'unix') return undefined
  const whole = formatListen(address)
  return address.port === (address.tls ? 443 : 80) ? whole.replace(/:\d+$/, '') : whole
}

/** Returns the lines with another `Host`, in its place. */
function withHost(lines: HeaderLines, host: string): HeaderLines {
  return lines.map((text, at) =>
    at % 2 === 1 && lines[at - 1]!.toLowerCase() === 'host' ? host : text,
  )
}
