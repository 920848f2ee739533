import { BlockList } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDestination } from '../../src/base/destination.ts'
import { isWithin, parseNetwork } from '../../src/base/network.ts'

describe('a destination', () => {
  it.each([
    ['db:5432', 'db', undefined, 5432],
    ['api.example.com:443', 'api.example.com', undefined, 443],
    ['*:65535', '*', undefined, 65_535],
    ['10.0.0.0/8:6379', '10.0.0.0/8', 8, 6379],
    ['10.1.2.3:1', '10.1.2.3', 32, 1],
    ['[fd00::/8]:5432', 'fd00::/8', 8, 5432],
    ['[2001:db8::1]:5432', '2001:db8::1', 128, 5432],
  ])('%s has its host and port', (text, host, prefix, port) => {
    const found = parseDestination(text)
    expect([found?.host, found?.network?.prefix, found?.port]).toEqual([host, prefix, port])
  })

  it.each([
    'db',
    'db:',
    ':5432',
    'db:0',
    'db:05432',
    'db:65536',
    'db:5432:1',
    '[db]:5432',
    'fd00::1:5432',
    '[10.0.0.0/8]:5432',
    '10.0.0.1/8:5432',
    '10.0.0.0/33:5432',
    '10.0.0.0/08:5432',
    '10.0.0.0/8/8:5432',
    '10.0.0.256:5432',
    '1234:5432',
    '[fd00::1/8]:5432',
    '[fe80::1%eth0]:5432',
    '*.example.com:443',
    'a b:1',
    'db:5432\n',
    `${'a.'.repeat(200)}b:1`,
    '10.0.0.1 counter drop:80',
  ])('%j is none', (text) => {
    expect(parseDestination(text)).toBeUndefined()
  })
})

describe('a network', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6())
  // Within the same few addresses, so that many are inside.
  const near = fc
    .tuple(fc.constantFrom('10.0.', 'fd00::'), fc.integer({ min: 0, max: 255 }))
    .map(([start, last]) => (start === '10.0.' ? `10.0.0.${last}` : `fd00::${last.toString(16)}`))
  const block = fc.constantFrom('0.0.0.0/0', '10.0.0.0/25', '::/0', 'fd00::/8', 'fd00::80/121')

  it('contains the addresses that BlockList of Node contains', () => {
    fc.assert(
      fc.property(fc.oneof(address, near), block, (text, outer) => {
        const list = new BlockList()
        const [first = '', prefix] = outer.split('/')
        const family = first.includes(':') ? 'ipv6' : 'ipv4'
        list.addSubnet(first, Number(prefix), family)
        const own = text.includes(':') ? 'ipv6' : 'ipv4'
        const isInside = own === family && list.check(text, own)
        expect(isWithin(parseNetwork(text)!, parseNetwork(outer)!)).toBe(isInside)
      }),
    )
  })

  it('contains smaller networks, and no larger one', () => {
    const [small, large] = [parseNetwork('10.1.0.0/16')!, parseNetwork('10.0.0.0/8')!]
    expect([isWithin(small, large), isWithin(large, small)]).toEqual([true, false])
  })
})
