import { describe, expect, it } from 'vitest'
import { isWithin, parseCidr, parseDestination } from '../../src/http/address.ts'

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
    '10.0.0.0/33:5432',
    '10.0.0.0/08:5432',
    '10.0.0.0/8/8:5432',
    '10.0.0.256:5432',
    '1234:5432',
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
  it('contains smaller networks, and no larger one', () => {
    const [small, large] = [parseCidr('10.1.0.0/16')!, parseCidr('10.0.0.0/8')!]
    expect([isWithin(small, large), isWithin(large, small)]).toEqual([true, false])
  })

  it('contains no address of the other family, and none that is only near', () => {
    const [every, mapped] = [parseCidr('0.0.0.0/0')!, parseCidr('::ffff:0:0/96')!]
    expect(isWithin(parseCidr('10.0.0.1')!, mapped)).toBe(false)
    expect(isWithin(parseCidr('::1')!, every)).toBe(false)
    expect(isWithin(parseCidr('fd00::80')!, parseCidr('fd00::/121')!)).toBe(false)
    expect(isWithin(parseCidr('FD00::7f')!, parseCidr('fd00::/121')!)).toBe(true)
  })
})
