import { BlockList, isIPv4, isIPv6 } from 'node:net'

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
