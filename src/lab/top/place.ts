/** Where the admin port of a sidecar is. */
export interface Place {
  readonly host: string
  readonly port: number
}

/** The place as people write it. */
export function placeText({ host, port }: Place): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
