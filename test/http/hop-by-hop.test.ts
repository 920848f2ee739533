import { expect, test } from 'vitest'
import { endToEnd } from '../../src/http/hop-by-hop.ts'

test('lines without anything of the connection are the very same array', () => {
  const lines = ['Host', 'a', 'X-Custom', '1', 'Trailer', 'x', 'Via', 'b']
  expect(endToEnd(lines)).toBe(lines)
})

test.each(['Connection', 'keep-alive', 'PROXY-CONNECTION', 'Transfer-Encoding', 'Upgrade', 'TE'])(
  '%s goes, and order, casing and repeats of the others stay',
  (name) => {
    const lines = ['X-B', '1', name, 'x', 'x-a', '2', 'X-B', '3', name, 'y']
    expect(endToEnd(lines)).toEqual(['X-B', '1', 'x-a', '2', 'X-B', '3'])
  },
)

test('trailers may still be asked for', () => {
  expect(endToEnd(['TE', ' Trailers '])).toEqual(['TE', ' Trailers '])
  expect(endToEnd(['TE', 'gzip, trailers'])).toEqual([])
})

test('what Connection names goes too, wherever it stands', () => {
  const lines = [
    'X-Hop',
    '1',
    'Connection',
    'close, x-hop ,, X-Other',
    'X-OTHER',
    '2',
    'X-Stays',
    '3',
  ]
  expect(endToEnd(lines)).toEqual(['X-Stays', '3'])
})

test.each([
  'Host',
  'Content-Length',
  'Content-Type',
  'Content-Encoding',
  'Authorization',
  'Cookie',
  'Accept',
  'Origin',
  'Last-Event-ID',
  'Mcp-Session-Id',
  'X-Forwarded-For',
])('Connection cannot take %s away', (name) => {
  expect(endToEnd(['Connection', name, name, 'x'])).toEqual([name, 'x'])
})
