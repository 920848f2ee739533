import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** A listener: a host and port, or a Unix socket. */
export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

/** Formats the address as users write it. */
export function formatListen(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}

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

/** A range of IP addresses. */
export interface AddressRange {
  readonly family: 'ipv4' | 'ipv6'
  /** The address before the length, or the only address. */
  readonly address: string
  /** The number of leading bits that all addresses share. */
  readonly prefix: number
  /** The range as written. */
  readonly text: string
  has(address: string): boolean
}

/** Reads `10.0.0.0/8`, `fd00::/8` or a single address; returns undefined for other texts. */
export function parseCidr(text: string): AddressRange | undefined {
  const slash = text.indexOf('/')
  const address = slash === -1 ? text : text.slice(0, slash)
  const family = isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : undefined
  if (family === undefined || address.includes('%')) return undefined
  const longest = family === 'ipv4' ? 32 : 128
  const written = slash === -1 ? String(longest) : text.slice(slash + 1)
  const prefix = Number(written)
  if (!/^(0|[1-9]\d{0,2})$/.test(written) || prefix > longest) return undefined
  const list = new BlockList()
  list.addSubnet(address, prefix, family)
  const has = (each: string): boolean => list.check(each, isIPv6(each) ? 'ipv6' : 'ipv4')
  return { family, address, prefix, text, has }
}

/** Returns true when all addresses of `inner` belong to `outer`. */
export function isWithin(inner: AddressRange, outer: AddressRange): boolean {
  return inner.family === outer.family && inner.prefix >= outer.prefix && outer.has(inner.address)
}

/** Returns an address without the prefix that IPv4 has on an IPv6 socket. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && isIPv4(address.slice(7)) ? address.slice(7) : address
}
