import { expect, test } from 'vitest'
import { findAmbiguity } from '../../src/http/ambiguity.ts'
import type { RequestHead } from '../../src/http/headers.ts'

const head = (rest: Partial<RequestHead>): RequestHead => ({
  method: 'POST',
  target: '/mcp',
  version: '1.1',
  headers: ['Host', 'pod'],
  ...rest,
})

test.each<[string, Partial<RequestHead>]>([
  ['a path', {}],
  ['no Host', { headers: [] }],
  ['a chunked body', { headers: ['Host', 'pod', 'Transfer-Encoding', ' Chunked '] }],
  ['a query with a URL', { target: '/x?u=http://other/' }],
  ['two slashes', { target: '//other/x' }],
  ['the server as a whole', { method: 'OPTIONS', target: '*' }],
  ['the whole URL of this host', { target: 'HTTP://POD/mcp' }],
])('%s has one meaning', (_what, rest) => {
  expect(findAmbiguity(head(rest))).toBeUndefined()
})

test.each<[number, string, Partial<RequestHead>]>([
  [400, 'two Hosts', { headers: ['Host', 'pod', 'HOST', 'pod'] }],
  [501, 'two codings', { headers: ['Transfer-Encoding', 'gzip, chunked'] }],
  [
    501,
    'a repeated coding',
    { headers: ['Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'] },
  ],
  [501, 'an unknown coding', { headers: ['Transfer-Encoding', 'xchunked'] }],
  [400, 'a coding before its time', { version: '1.0', headers: ['Transfer-Encoding', 'chunked'] }],
  [400, 'a target of another host', { target: 'http://other/mcp' }],
  [400, 'a target with a user before this host', { target: 'http://x@pod/mcp' }],
  [400, 'a whole URL without Host', { target: 'http://pod/mcp', headers: [] }],
  [400, 'a target that is no path', { target: 'mcp' }],
  [400, 'an asterisk for anything else', { target: '*' }],
  [400, 'another scheme', { target: 'ftp://pod/mcp' }],
  [400, 'nothing', { target: '' }],
])('%i for %s', (status, _what, rest) => {
  expect(findAmbiguity(head(rest))?.status).toBe(status)
})
