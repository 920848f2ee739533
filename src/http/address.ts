/** A listener: a host and port, or a Unix socket. */
export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

/** Formats the address as users write it. */
export function formatListen(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}
