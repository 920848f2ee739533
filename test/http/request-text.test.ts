import { expect, test } from 'vitest'
import type { RequestHead } from '../../src/http/headers.ts'
import { requestHeadText, UnsafeHeadError } from '../../src/http/request-text.ts'

const head = (rest: Partial<RequestHead>): RequestHead => ({
  method: 'POST',
  target: '/a//b?x=%20',
  version: '1.1',
  headers: [],
  ...rest,
})

test('lines keep order, casing and repeats; those of the connection are written anew', () => {
  const headers = [
    'X-B',
    '1',
    'hOST',
    'pod',
    'Connection',
    'close',
    'X-B',
    '2',
    'Transfer-Encoding',
    'chunked',
  ]
  expect(requestHeadText(head({ headers }), true)).toBe(
    'POST /a//b?x=%20 HTTP/1.1\r\nX-B: 1\r\nhOST: pod\r\nX-B: 2\r\nTransfer-Encoding: chunked\r\n',
  )
})

test('a client of HTTP/1.0 is spoken for in HTTP/1.0, on a connection that stays', () => {
  expect(requestHeadText(head({ version: '1.0' }), false)).toBe(
    'POST /a//b?x=%20 HTTP/1.0\r\nConnection: keep-alive\r\n',
  )
})

test('bytes above ASCII stay one byte each', () => {
  const text = requestHeadText(head({ headers: ['X', '\xe9\xff'] }), false)
  expect(Buffer.from(text, 'latin1').includes(Buffer.from([0xe9, 0xff]))).toBe(true)
})

test.each(['\r', '\n', '\0', 'a\r\nX-Smuggled: 1'])('%j cannot leave in a head', (bad) => {
  for (const rest of [
    { headers: ['X', bad] },
    { headers: [`X${bad}`, 'a'] },
    { target: `/${bad}` },
  ]) {
    expect(() => requestHeadText(head(rest), false)).toThrow(UnsafeHeadError)
  }
})
