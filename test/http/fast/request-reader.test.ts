import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RequestReader } from '../../../src/http/fast/request-reader.ts'
import { checkRequests, MAX_HEADER_SIZE } from '../../fuzz/targets/requests.ts'
import { singleStrokes } from './strokes.ts'
import { rounds } from '../../support/rounds.ts'

const POST = 'POST /a HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\nC: d\r\n\r\nok'
const GET = 'GET /a HTTP/1.1\r\nHost: b\r\nConnection: keep-alive\r\n\r\n'
const DELETE = 'DELETE / HTTP/1.1\r\nhost: b\r\nD: "e f"\r\n\r\n'

function isPlain(bytes: Buffer | string): boolean {
  return new RequestReader(MAX_HEADER_SIZE).read(Buffer.from(bytes as string, 'latin1'), 0)
}

describe('a request is read', () => {
  test.each([POST, GET, DELETE])(
    'as node:http reads it, whatever one stroke does to it',
    (text) => {
      let plain = 0
      for (const bytes of singleStrokes(text, text.length)) {
        if (!isPlain(bytes)) continue
        plain++
        checkRequests(bytes)
      }
      expect(plain).toBeGreaterThan(250)
    },
  )

  test('as node:http reads it, whatever its lines are', () => {
    const token = fc.string({
      minLength: 1,
      maxLength: 9,
      unit: fc.constantFrom(...TOKEN.split('')),
    })
    const path = fc.string({ maxLength: 9, unit: fc.constantFrom(...'ab/?&=%20.*:@'.split('')) })
    const line = fc
      .tuple(
        fc.oneof(token, fc.constantFrom(...NAMES)),
        fc.oneof(VALUE, fc.constantFrom(...VALUES)),
      )
      .map(([name, value]) => `${name}: ${value}\r\n`)
    const lines = fc.array(line, { maxLength: 3 })
    const request = fc
      .tuple(fc.constantFrom('GET', 'POST', 'DELETE'), path, lines, fc.nat(30), lines)
      .map(([method, target, before, length, after]) => {
        const size = method === 'POST' ? `Content-Length: ${length}\r\n` : ''
        const body = method === 'POST' ? 'x'.repeat(length) : ''
        const front = `${method} /${target} HTTP/1.1\r\n${before.join('')}Host: pod\r\n`
        return `${front}${size}${after.join('')}\r\n${body}`
      })
    let plain = 0
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 4 }), (requests) => {
        const bytes = Buffer.from(requests.join(''), 'latin1')
        if (checkRequests(bytes).compared) plain++
      }),
      { numRuns: rounds(100, 300) },
    )
    expect(plain).toBeGreaterThan(rounds(33, 100))
  })

  test('up to the bound of a head and no further, however its length grows', () => {
    const limit = 200
    const head = (length: string, pad: number): string =>
      `POST / HTTP/1.1\r\nHost: b\r\nA: ${'a'.repeat(pad)}\r\nContent-Length: ${length}\r\n\r\n`
    const pad = limit - 1 - head('1', 0).length
    const requests = new RequestReader(limit)
    const reads = (length: string, size: number): boolean =>
      requests.read(Buffer.from(head(length, size)), 0)
    expect(reads('1', pad)).toBe(true)
    // The same header block but for its length, which exceeds the limit.
    expect(reads('12', pad)).toBe(false)
    expect(reads('999999999', pad)).toBe(false)
    expect(reads('12', pad - 1)).toBe(true)
    expect(reads('1', pad + 1)).toBe(false)
    expect(reads('999999999999999', pad - 14)).toBe(true)
    expect(requests.length).toBe(999_999_999_999_999)
    expect(reads('9999999999999999', pad - 15)).toBe(false)
  })

  test('with a head of the largest size as node:http reads it', () => {
    const head = `POST / HTTP/1.1\r\nHost: b\r\nContent-Length: 0\r\nA: \r\n\r\n`
    for (const [size, plain] of [
      [MAX_HEADER_SIZE - 1, true],
      [MAX_HEADER_SIZE, false],
    ] as const) {
      const text = head.replace('A: ', `A: ${'a'.repeat(size - head.length)}`)
      expect(isPlain(text)).toBe(plain)
      checkRequests(Buffer.from(text))
    }
    const many = head.replace('A: ', 'a: b\r\n'.repeat(2_700) + 'A: a')
    expect(isPlain(many)).toBe(true)
    checkRequests(Buffer.from(many))
  })
})

test.each([
  ['no Host', 'GET / HTTP/1.1\r\nA: b\r\n\r\n'],
  ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n'],
  ['another method', 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'],
  ['a POST without a length', 'POST / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a GET with one', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'],
  ['two lengths', POST.replace('C: d', 'content-length: 2')],
  ['a length with a zero in front', POST.replace(': 2', ': 02')],
  ['a length in a list', POST.replace(': 2', ': 2, 2')],
  ['chunks', POST.replace('C: d', 'Transfer-Encoding: chunked')],
  ['chunks alone', POST.replace('Content-Length: 2', 'transfer-encoding: chunked')],
  ['an offer to upgrade', GET.replace('keep-alive', 'Upgrade')],
  ['a protocol to upgrade to', GET.replace('Connection: keep-alive', 'Upgrade: h2c')],
  ['settings for HTTP/2', GET.replace('Connection: keep-alive', 'HTTP2-Settings: AAA')],
  ['an expectation', POST.replace('C: d', 'Expect: 100-continue')],
  ['the last request', GET.replace('keep-alive', 'close')],
  ['a nominated line', GET.replace('keep-alive', 'keep-alive, x')],
  ['an older way to say so', GET.replace('Connection', 'Proxy-Connection')],
  ['TE', GET.replace('Connection: keep-alive', 'TE: trailers')],
  ['a trailer', GET.replace('Connection: keep-alive', 'Trailer: x')],
  ['a whole URL', GET.replace('/a', 'http://b/a')],
  ['an older version', GET.replace('1.1', '1.0')],
  ['an empty value', GET.replace(' keep-alive', ' ')],
  ['a bare line feed', GET.replaceAll('\r\n', '\n')],
  ['a folded line', GET.replace('keep-alive', 'keep-alive\r\n x')],
  ['a space in front of the colon', GET.replace('Connection:', 'Connection :')],
  ['no space behind the colon', GET.replace('Connection: ', 'Connection:')],
  ['a line break in front', `\r\n${GET}`],
  ['no end', GET.slice(0, -1)],
])('a request is left to another parser: %s', (_what, text) => {
  expect(isPlain(text)).toBe(false)
})

const VALUE = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme-ascii' })
  .map((text) => text.trim() || 'v')
const TOKEN = "abXY09-_.!#$%&'*+^`|~"
const NAMES = ['Connection', 'connection', 'Accept', 'X-A', 'Cookie', 'Keep-Alive', 'te', 'Expect']
const VALUES = ['keep-alive', 'Keep-Alive', 'close', 'a, b', 'a  b', '5', ':', '"']
