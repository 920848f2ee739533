import { isIPv4, isIPv6 } from 'node:net'

/** A block of addresses; a single address is a block of one. */
export interface Network {
  readonly family: 4 | 6
  readonly first: bigint
  /** The number of leading bits that all addresses share. */
  readonly prefix: number
  /** The block as written. */
  readonly text: string
}

const BITS = { 4: 32, 6: 128 } as const
const GROUPS = 8

/**
 * Parses an address or a block such as `10.0.0.0/8` or `fd00::/8`. Returns undefined for other
 * texts, also for a block that is not written by its first address.
 */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', length, ...more] = text.split('/')
  const family = isIPv4(address) ? 4 : isIPv6(address) && !address.includes('%') ? 6 : undefined
  if (family === undefined || more.length > 0) return undefined
  const bits = BITS[family]
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined
  const prefix = length === undefined ? bits : Number(length)
  const first =
    family === 4 ? valueOf(address.split('.'), 10, 8n) : valueOf(groups(address), 16, 16n)
  if (prefix > bits || BigInt.asUintN(bits - prefix, first) !== 0n) return undefined
  return { family, first, prefix, text }
}

/** Returns true when all addresses of `inner` belong to `outer`. */
export function isWithin(inner: Network, outer: Network): boolean {
  const shift = BigInt(BITS[outer.family] - outer.prefix)
  return (
    inner.family === outer.family &&
    inner.prefix >= outer.prefix &&
    inner.first >> shift === outer.first >> shift
  )
}

function valueOf(parts: readonly string[], radix: number, width: bigint): bigint {
  return parts.reduce((sum, part) => (sum << width) | BigInt(Number.parseInt(part, radix)), 0n)
}

/** Returns the eight groups of an IPv6 address. */
function groups(address: string): readonly string[] {
  // The URL parser also rewrites a last part in the form of IPv4.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  if (tail === undefined) return left
  const right = tail === '' ? [] : tail.split(':')
  return [...left, ...Array<string>(GROUPS - left.length - right.length).fill('0'), ...right]
}
