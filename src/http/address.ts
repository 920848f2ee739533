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
      ? host === ANY_HOST || network?.family === 'ipv4' || (isHostName(host) && !host.endsWith('.'))
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

/** A host and port as written. */
export interface HostPort {
  readonly host: string
  /** Empty when no port was written. */
  readonly port: string
}

/**
 * Splits `host`, `host:port`, `[v6]:port` and `:port`; returns undefined for other texts. Accepts
 * `[v4]:port` as well: a template that inserts an address does not know its family.
 */
export function splitHostPort(text: string): HostPort | undefined {
  if (text.startsWith('[')) {
    const end = text.indexOf(']')
    const host = text.slice(1, end === -1 ? 1 : end)
    const rest = text.slice(end + 1)
    if ((!isIPv6(host) && !isIPv4(host)) || (rest !== '' && !rest.startsWith(':'))) return undefined
    return { host, port: rest.slice(1) }
  }
  const colon = text.indexOf(':')
  if (colon === -1) return { host: text, port: '' }
  if (text.includes(':', colon + 1)) return undefined
  return { host: text.slice(0, colon), port: text.slice(colon + 1) }
}

/** Returns the port; undefined for an invalid one. */
export function parsePort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65535 ? port : undefined
}

/** Returns true for an address or a host name. */
export function isHost(text: string): boolean {
  return isIPv4(text) || isIPv6(text) || isHostName(text)
}

/** Returns true for a name that is valid in the DNS. */
export function isHostName(text: string): boolean {
  if (text.length > 253) return false
  // Compose names services with underscores.
  const labels = (text.endsWith('.') ? text.slice(0, -1) : text).split('.')
  if (!labels.every((label) => /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/.test(label))) {
    return false
  }
  // A name that ends in a number is an invalid address.
  return !/^(\d+|0[xX][0-9A-Fa-f]*)$/.test(labels.at(-1) ?? '')
}

/** Returns one spelling for each address: `0:0::1` and `::1` are equal. */
export function canonicalHost(host: string): string {
  const lower = host.toLowerCase()
  if (!isIPv6(lower) || lower.includes('%')) return lower.endsWith('.') ? lower.slice(0, -1) : lower
  const short = new URL(`http://[${lower}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short)
  if (mapped === null) return short
  const high = Number.parseInt(mapped[1] ?? '', 16)
  const low = Number.parseInt(mapped[2] ?? '', 16)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/**
 * Returns true when a connection to `target` reaches a listener bound to `listening`, with equal
 * ports.
 */
export function reaches(listening: string, target: string): boolean {
  const a = canonicalHost(listening)
  const b = canonicalHost(target)
  if (a === b) return true
  if (a === '::') return isLoopback(b)
  if (a === '0.0.0.0') return isLoopback(b) && b !== '::1'
  return (
    (isLocalName(a) && (isLocalName(b) || isFirstLoopback(b))) ||
    (isLocalName(b) && isFirstLoopback(a))
  )
}

/** Returns true when the two cannot both be bound with equal ports. */
export function clashes(one: string, other: string): boolean {
  const a = canonicalHost(one)
  const b = canonicalHost(other)
  return reaches(a, b) || reaches(b, a) || covers(a, b) || covers(b, a)
}

/** Returns true for the address that stands for every interface. */
export function isWildcard(host: string): boolean {
  return canonicalHost(host) === '0.0.0.0' || canonicalHost(host) === '::'
}

/** Returns true when both are the same address. */
export function isAt(one: string, other: string): boolean {
  return canonicalHost(one) === canonicalHost(other)
}

/**
 * Returns true when a listener bound to `listening` accepts connections to an address of its
 * machine.
 */
export function takes(listening: string, address: string): boolean {
  return covers(canonicalHost(listening), canonicalHost(address))
}

function covers(wildcard: string, host: string): boolean {
  return wildcard === '::' || (wildcard === '0.0.0.0' && !isIPv6(host))
}

function isLoopback(host: string): boolean {
  return isLocalName(host) || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

function isFirstLoopback(host: string): boolean {
  return host === '127.0.0.1' || host === '::1'
}
