import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { RequestReader } from '../../../src/http/fast/request-reader.ts'
import { checkMemo } from '../../fuzz/targets/memo.ts'
import { singleStrokes } from './strokes.ts'
import { rounds } from '../../support/rounds.ts'

const HEADS = [
  'POST /a HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\nC: d\r\n\r\n',
  'GET /a HTTP/1.1\r\nHost: b\r\nC: d\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
]

/** A byte is another one, or it is not: which one matters little here. */
const OTHERS = Buffer.from(' \r09aA:-\x80', 'latin1')

test.each(HEADS)('a head is read alike behind each that differs in one stroke: %j', (head) => {
  let compared = 0
  for (const stroke of singleStrokes(head, head.length, OTHERS)) {
    const other = stroke.toString('latin1')
    if (other.includes('\0')) continue
    if (checkMemo(Buffer.from(['', head, other, head].join('\0'), 'latin1')).compared) compared++
  }
  expect(compared).toBeGreaterThan(500)
})

test('a head is read as by a fresh reader, whatever was read before', () => {
  const length = fc.constantFrom(
    '0',
    '1',
    '5',
    '05',
    '12',
    '999999999',
    '1000000000',
    '123456789012',
  )
  const lines = fc.shuffledSubarray(['A: b\r\n', 'a: b\r\n', 'A: B\r\n', 'X-Content-Length: 5\r\n'])
  const name = fc.constantFrom('Content-Length', 'content-length', 'Content-length')
  const start = fc.constantFrom(
    'POST / HTTP/1.1\r\nHost: a\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n',
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 204 No\r\n',
  )
  const head = fc
    .tuple(start, lines, fc.option(fc.tuple(name, length)), lines)
    .map(([first, before, declared, after]) => {
      const size = declared === null ? '' : `${declared[0]}: ${declared[1]}\r\n`
      return `${first}${before.join('')}${size}${after.join('')}\r\n`
    })
  const limit = fc.constantFrom('', '60', '70', '80', '90', '100')
  const heads = fc.array(fc.oneof({ weight: 9, arbitrary: head }, fc.constant('')), {
    minLength: 2,
  })
  fc.assert(
    fc.property(limit, heads, (first, rest) => {
      checkMemo(Buffer.from([first, ...rest].join('\0')))
    }),
    { numRuns: rounds(100, 400) },
  )
})

test('a head that was given out does not change when another one is read', () => {
  const requests = new RequestReader(4096)
  const post = (length: string): Buffer => Buffer.from(HEADS[0]!.replace(': 2', `: ${length}`))
  const given: [head: unknown, text: string][] = []
  for (const length of ['2', '33', '2', '4', '33', '4', '4']) {
    expect(requests.read(post(length), 0)).toBe(true)
    expect(requests.length).toBe(Number(length))
    given.push([requests.head, JSON.stringify(requests.head)])
  }
  for (const [head, text] of given) expect(JSON.stringify(head)).toBe(text)
})
