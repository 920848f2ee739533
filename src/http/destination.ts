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

/** A destination with the protocol that is spoken with it. */
export interface WrittenDestination extends Destination {
  /** True for plain HTTP, which is read; all else is carried as bytes. */
  readonly isHttp: boolean
}

const HTTP = 'http://'

/** Parses `db:5432`, or `http://tools:8080` for one host; returns undefined for other texts. */
export function parseWrittenDestination(text: string): WrittenDestination | undefined {
  const isHttp = text.startsWith(HTTP)
  const found = parseDestination(withoutHttp(text))
  if (found === undefined || (isHttp && (found.host === ANY_HOST || found.host.includes('/')))) {
    return undefined
  }
  return { ...found, isHttp }
}

/** Returns a destination without its protocol. */
export function withoutHttp(text: string): string {
  return text.startsWith(HTTP) ? text.slice(HTTP.length) : text
}

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
