import { describe, expect, it } from 'vitest'
import { parseBaggage } from '../../src/http/baggage.ts'
import { Random, seedOfRun } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const read = (text: string) => Object.fromEntries(parseBaggage(text))

describe('baggage', () => {
  it.each([
    ['tenant=canary', { tenant: ['canary'] }],
    [' tenant \t= canary ;ttl=30, user=ann', { tenant: ['canary'], user: ['ann'] }],
    ['tenant=a,tenant=b', { tenant: ['a', 'b'] }],
    ['tenant=caf%C3%A9%20x', { tenant: ['café x'] }],
    ['tenant=', { tenant: [''] }],
    ['a=b=c', { a: ['b=c'] }],
    ['__proto__=x,a=b', { a: ['b'], ['__proto__']: ['x'] }],
  ])('%s is read', (text, members) => {
    expect(read(text)).toEqual(members)
  })

  it('is decoded once', () => {
    expect(read('tenant=%2563anary')).toEqual({ tenant: ['%63anary'] })
  })

  it.each([
    'tenant',
    '=canary',
    'a b=c',
    'tenant=a b',
    'tenant="canary"',
    'tenant=\u0000canary',
    'tenant=canary\n',
    '\ntenant=canary',
    'tenant=canary;ttl=\u001b[31m',
    'tenant=canaryé',
    'tenant=%',
    'tenant=%ff',
    'tenant=a\\b',
  ])('leaves out the invalid member %j alone', (member) => {
    expect(read(`a=b,${member},c=d`)).toEqual({ a: ['b'], c: ['d'] })
  })

  it('is read up to 8,192 bytes and 64 members', () => {
    const long = (length: number): string => `a=${'x'.repeat(length - 2)}`
    expect(read(long(8192))).toHaveProperty('a')
    expect(read(long(8193))).toEqual({})
    const many = Array.from({ length: 65 }, (_, i) => `k${i}=v`).join()
    expect(Object.keys(read(many))).toEqual(Array.from({ length: 64 }, (_, i) => `k${i}`))
  })

  it('is read within a millisecond, whatever it contains', () => {
    const random = new Random(seedOfRun())
    const begin = performance.now()
    const count = rounds(300, 10_000)
    for (let i = 0; i < count; i++) parseBaggage(random.text(8192, ' \t=;,%aé\n\u0000"'))
    for (const part of [' ', '\t', 'a', 'a ', '=', '%', '; ', ';'])
      parseBaggage(part.repeat(8192).slice(0, 8192))
    // Making the text takes most of the time.
    expect((performance.now() - begin) / count).toBeLessThan(10)
  })
})
