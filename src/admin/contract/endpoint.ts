/** The address of an admin port. */
export interface AdminEndpoint {
  readonly host: string
  readonly port: number
}

/** Formats an address as `host:port`. */
export function endpointText({ host, port }: AdminEndpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
