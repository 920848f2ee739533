import { isIP } from 'node:net'

/** Returns the bytes of an IP address. */
export function addressBytes(address: string): readonly number[] {
  if (isIP(address) === 4) return address.split('.').map(Number)
  // A URL writes all of an IPv6 address as groups.
  const full = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = [], tail = []] = full.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16))
  return groups.flatMap((group) => [group >> 8, group & 0xff])
}
