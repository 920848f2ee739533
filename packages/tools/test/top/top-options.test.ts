import { expect, it } from 'vitest'
import type { TopRequest } from '../../src/commands/top.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'

const top = (...args: string[]): TopRequest => asked(['top', ...args]) as TopRequest

it('reads the usual admin port by default', () => {
  expect(top()).toEqual({
    endpoints: [{ host: '127.0.0.1', port: 15390 }],
    json: false,
    once: false,
    token: undefined,
    noColour: false,
    dumb: false,
  })
})

it('takes addresses as people write them, each once', () => {
  const { endpoints } = top('http://a.example:1/', 'b', '[::1]:2', '3', 'A.example:1', 'HTTP://c:4')
  expect(endpoints).toEqual([
    { host: 'A.example', port: 1 },
    { host: 'b', port: 15390 },
    { host: '::1', port: 2 },
    { host: '127.0.0.1', port: 3 },
    { host: 'c', port: 4 },
  ])
})

it.each([
  ['https://a:1', /"https:\/\/a:1" is https; admin ports speak plain HTTP/],
  ['a:0', /invalid port in .*; use a port from 1 to 65535/],
  ['a:', /invalid port/],
  ['http://a:1/metrics', /has a path or a query; end the address after the port/],
  ['a:1:2', /invalid address .*; write host:port/],
  ['0.0.0.0:1', /must be a single host; use 127.0.0.1/],
  ['http://me:secret@a:1', /^an address contains a user name or password; remove it$/],
  ['a\u001b[2J', /invalid address "a\\u001b\[2J"/],
])('refuses %j', (address, says) => {
  expect(() => top(address)).toThrow(says)
})

it('refuses more sidecars than one can look at', () => {
  const many = Array.from({ length: 65 }, (_, i) => `10.0.0.1:${i + 1}`)
  expect(() => top(...many)).toThrow('too many sidecars: 65; name 64 at most')
})

it('takes the token from the environment, and none that cannot be one', () => {
  const of = (token: string): TopRequest =>
    asked(['top'], { SQUALL_ADMIN_TOKEN: token, NO_COLOR: '1', TERM: 'dumb' }) as TopRequest
  expect(of('0123456789abcdef')).toMatchObject({
    token: '0123456789abcdef',
    noColour: true,
    dumb: true,
  })
  expect(() => of('short')).toThrow(/SQUALL_ADMIN_TOKEN must be 16 to 512 characters/)
})
