/** Locates the upstream: a host and port, with or without TLS, or a Unix socket. */
export type UpstreamAddress =
  | { readonly kind: 'tcp'; readonly tls: boolean; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

/** Formats the address as users write it. */
export function formatUpstream(address: UpstreamAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return `${address.tls ? 'https' : 'http'}://${host}:${address.port}`
}
