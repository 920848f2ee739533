import { type AddressRange, parseCidr } from './cidr.ts'

/** Names destinations of connections: `db:5432`, `10.0.0.0/8:5432`, `[fd00::/8]:5432`, `*:5432`. */
export interface Destination {
  /** A host name, a network, or `*` for any address. */
  readonly host: string
  /** The addresses; undefined for a host name and for `*`. */
  readonly network: AddressRange | undefined
  readonly port: number
}

export const ANY_HOST = '*'

/** Matches a DNS name; a name that ends in a number would be an invalid address. */
export const HOST_NAME =
  /^(?=.{1,253}$)(?!.*\.\d+$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/

/** Parses a destination; returns undefined for other texts. */
export function parseDestination(text: string): Destination | undefined {
  const match = /^(?:\[([^\]]{1,43})\]|([^:[\]]{1,253})):([1-9]\d{0,4})$/.exec(text)
  if (match === null) return undefined
  const [, bracketed, plain = '', digits] = match
  const host = bracketed ?? plain
  const network = parseCidr(host)
  const port = Number(digits)
  const isValid =
    bracketed === undefined
      ? host === ANY_HOST ||
        network?.family === 'ipv4' ||
        // Compose names services with underscores.
        (HOST_NAME.test(host.replaceAll('_', 'x')) && !/^\d+$/.test(host))
      : network?.family === 'ipv6'
  return isValid && port <= 65_535 ? { host, network, port } : undefined
}
