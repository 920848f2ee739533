import { formatListen } from '../http/address.ts'
import type { HeaderLines } from '../http/headers.ts'
import type { Upstream } from '../http/transfer.ts'
import type { UpstreamAddress } from './address.ts'

/** Wraps an upstream so that it gets requests for its own name instead of that of the listener. */
export function outboundUpstream(upstream: Upstream, host: string): Upstream {
  return {
    send: (head, body, sink) => {
      const target = pathOf(head.target)
      const headers = withHost(head.headers, host)
      return upstream.send({ ...head, target, headers }, body, sink)
    },
  }
}

/** Returns the value of `Host` for an address; undefined for a Unix socket. */
export function authorityOf(address: UpstreamAddress): string | undefined {
  if (address.kind === 'unix') return undefined
  const whole = formatListen(address)
  return address.port === (address.tls ? 443 : 80) ? whole.replace(/:\d+$/, '') : whole
}

/** Returns the target without the host that a URL names: it may differ from the new `Host`. */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  return target.replace(/^https?:\/\/[^/?#]*\/?/i, '/')
}

/** Returns the lines with another `Host`, in its place or first. */
function withHost(lines: HeaderLines, host: string): HeaderLines {
  const at = lines.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  return at < 0 ? ['Host', host, ...lines] : lines.with(at + 1, host)
}
