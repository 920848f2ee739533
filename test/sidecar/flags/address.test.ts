import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loops, overlaps, parseListen, parseUpstream } from '../../../src/sidecar/flags/address.ts'
import { formatListen } from '../../../src/http/address.ts'
import { formatUpstream } from '../../../src/upstream/address.ts'
import { UsageError } from '../../../src/base/flags/usage-error.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'
import { rounds } from '../../support/rounds.ts'

const listen = (text: string) => parseListen({ text, source: '--listen' })
const upstream = (text: string) => parseUpstream({ text, source: '--upstream' })

describe('an address to listen on', () => {
  it.each([
    ['127.0.0.1:15300', { kind: 'tcp', host: '127.0.0.1', port: 15300 }],
    ['127.0.0.1:0', { kind: 'tcp', host: '127.0.0.1', port: 0 }],
    ['[::1]:3000', { kind: 'tcp', host: '::1', port: 3000 }],
    ['[127.0.0.1]:3000', { kind: 'tcp', host: '127.0.0.1', port: 3000 }],
    ['[fe80::1%eth0]:3000', { kind: 'tcp', host: 'fe80::1%eth0', port: 3000 }],
    [':15300', { kind: 'tcp', host: '::', port: 15300 }],
    ['15300', { kind: 'tcp', host: '::', port: 15300 }],
    ['localhost:65535', { kind: 'tcp', host: 'localhost', port: 65535 }],
    ['unix:/run/squall.sock', { kind: 'unix', path: '/run/squall.sock' }],
    ['unix:///run/./squall.sock', { kind: 'unix', path: '/run/squall.sock' }],
  ])('%s', (text, expected) => {
    expect(listen(text)).toEqual(expected)
  })

  it.each([
    ['', /has no port/],
    ['127.0.0.1', /has no port/],
    ['65536', /invalid port in .*; use a port from 0 to 65535/],
    ['127.0.0.1:65536', /invalid port/],
    ['127.0.0.1:-1', /invalid port/],
    ['127.0.0.1:1e3', /invalid port/],
    ['127.0.0.1: 80', /invalid port/],
    ['::1:3000', /invalid address/],
    ['[::1]', /has no port/],
    ['[::1]3000', /invalid address/],
    ['[::1:3000', /invalid address/],
    ['[127.1]:3000', /invalid address/],
    ['300.0.0.1:80', /invalid host/],
    ['0x7f000001:80', /invalid host/],
    ['a b:80', /invalid host/],
    ['a_\n:80', /invalid host/],
    [`${'a'.repeat(300)}:80`, /invalid host/],
    ['http://127.0.0.1:80', /is a URL/],
    ['unix:run.sock', /invalid socket address/],
    ['unix:', /invalid socket address/],
    ['unix:/', /invalid socket address/],
    ['unix:/a\u0000b', /invalid socket address/],
    [`unix:/${'a'.repeat(120)}`, /too long; use at most 107 bytes/],
  ])('refuses %j', (text, message) => {
    expect(() => listen(text)).toThrow(message)
  })
})

describe('an upstream', () => {
  it.each([
    ['http://127.0.0.1:3000', { kind: 'tcp', tls: false, host: '127.0.0.1', port: 3000 }],
    ['http://127.0.0.1:3000/', { kind: 'tcp', tls: false, host: '127.0.0.1', port: 3000 }],
    ['HTTP://app', { kind: 'tcp', tls: false, host: 'app', port: 80 }],
    ['https://app.example', { kind: 'tcp', tls: true, host: 'app.example', port: 443 }],
    ['https://app.example:8443', { kind: 'tcp', tls: true, host: 'app.example', port: 8443 }],
    ['http://[::1]:3000', { kind: 'tcp', tls: false, host: '::1', port: 3000 }],
    ['https://[::1]', { kind: 'tcp', tls: true, host: '::1', port: 443 }],
    ['unix:/run/app.sock', { kind: 'unix', path: '/run/app.sock' }],
  ])('%s', (text, expected) => {
    expect(upstream(text)).toEqual(expected)
  })

  it.each([
    ['', /invalid upstream/],
    ['3000', /write http:\/\/127\.0\.0\.1:3000$/],
    ['app:3000', /write http:\/\/app:3000$/],
    ['[::1]:3000', /write http:\/\/\[::1\]:3000$/],
    ['ftp://app', /invalid upstream/],
    ['http://', /invalid host/],
    ['http://:3000', /invalid host/],
    ['http://127.1:3000', /invalid host/],
    ['http://a b', /invalid host/],
    ['http://app\n:3000', /invalid host/],
    ['http://app:', /invalid port/],
    ['http://app:0', /invalid port in .*; use a port from 1 to 65535/],
    ['http://app:65536', /invalid port/],
    ['http://app:3000/mcp', /has a path or a query/],
    ['http://app:3000//', /has a path or a query/],
    ['http://app:3000?x', /has a path or a query/],
    ['http://app:3000#x', /has a path or a query/],
    ['http://app\\mcp', /has a path or a query/],
    ['http://0.0.0.0:3000', /must be a single host; use 127\.0\.0\.1/],
    ['http://[::]:3000', /must be a single host/],
  ])('refuses %j', (text, message) => {
    expect(() => upstream(text)).toThrow(message)
  })

  it('does not repeat a password', () => {
    expect(() => upstream('http://user:hunter2@app')).toThrow(/user name or password/)
    expect(() => upstream('http://user:hunter2@app')).not.toThrow(/hunter2/)
  })
})

describe('addresses together', () => {
  it.each([
    ['127.0.0.1:80', 'http://127.0.0.1', true],
    ['127.0.0.1:80', 'http://localhost', true],
    ['localhost:80', 'http://[::1]', true],
    ['localhost:80', 'http://LOCALHOST.', true],
    [':80', 'http://127.0.0.1', true],
    [':80', 'http://[::1]', true],
    [':80', 'http://localhost', true],
    ['0.0.0.0:80', 'http://127.0.0.9', true],
    ['[::ffff:127.0.0.1]:80', 'http://127.0.0.1', true],
    ['[0:0:0:0:0:0:0:1]:80', 'http://[::1]', true],
    ['unix:/a/../b', 'unix:/b', true],
    ['127.0.0.1:80', 'http://127.0.0.1:81', false],
    ['127.0.0.1:80', 'http://127.0.0.2', false],
    ['127.0.0.1:80', 'http://[::1]', false],
    ['0.0.0.0:80', 'http://[::1]', false],
    [':80', 'http://app', false],
    ['unix:/a', 'unix:/b', false],
    ['unix:/a', 'http://a', false],
  ])('%s in front of %s loops: %s', (from, to, expected) => {
    expect(loops(listen(from), upstream(to))).toBe(expected)
  })

  it.each([
    ['127.0.0.1:80', '127.0.0.1:80', true],
    [':80', '10.0.0.1:80', true],
    ['10.0.0.1:80', '0.0.0.0:80', true],
    ['localhost:80', '127.0.0.1:80', true],
    ['unix:/a', 'unix:/a', true],
    ['127.0.0.1:0', '127.0.0.1:0', false],
    ['10.0.0.1:80', '10.0.0.2:80', false],
    ['127.0.0.1:80', '127.0.0.1:81', false],
  ])('%s and %s overlap: %s', (one, other, expected) => {
    expect(overlaps(listen(one), listen(other))).toBe(expected)
    expect(overlaps(listen(other), listen(one))).toBe(expected)
  })
})

describe('any text', () => {
  const piece = fc.constantFrom(
    'http://',
    'https://',
    'unix:',
    '[',
    ']',
    '::1',
    ':',
    '80',
    '/',
    '@',
  )
  const text = fc
    .array(fc.oneof(piece, fc.string({ unit: ANY_CHARACTER, maxLength: 8 })), { maxLength: 6 })
    .map((parts) => parts.join(''))

  it('is an address that reads back as itself, or a usage error of one line', () => {
    fc.assert(
      fc.property(text, (input) => {
        for (const check of [
          () => expect(listen(formatListen(listen(input)))).toEqual(listen(input)),
          () => expect(upstream(formatUpstream(upstream(input)))).toEqual(upstream(input)),
        ]) {
          try {
            check()
          } catch (error) {
            if (!(error instanceof UsageError)) throw error
            // oxlint-disable-next-line no-control-regex
            expect(error.message).not.toMatch(/[\u0000-\u001f]/)
          }
        }
      }),
      { numRuns: rounds(500, 2_000) },
    )
  })
})
