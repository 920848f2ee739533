import type { HeaderLines } from '../http/headers.ts'
import type { Upstream } from '../http/transfer.ts'
import type { UpstreamAddress } from './address.ts'

/** Wraps an upstream so that it gets requests for its own name instead of that of the listener. */
export function outboundUpstream(upstream: Upstream, address: UpstreamAddress): Upstream {
  const authority = address.kind === 'tcp' ? authorityOf(address) : 'localhost'
  return {
    send: (head, body, sink) =>
      upstream.send({ ...head, headers: withHost(head.headers, authority) }, body, sink),
  }
}

/** Returns the value of `Host` for an address. */
export function authorityOf({
  host,
  port,
  tls,
}: Extract<UpstreamAddress, { kind: 'tcp' }>): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === (tls ? 443 : 80) ? name : `${name}:${port}`
}

/** Returns the lines with another `Host`, in its place. */
function withHost(lines: HeaderLines, authority: string): HeaderLines {
  return lines.map((text, at) =>
    at % 2 === 1 && lines[at - 1]!.toLowerCase() === 'host' ? authority : text,
  )
}
