import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classifyBody, isHandshake } from '../../src/mcp/classify.ts'
import { countKeys, countMembers } from '../../src/mcp/json-keys.ts'
import { factsOf } from '../../src/mcp/request-facts.ts'
import { isExemptPath } from '../../src/http/exempt-path.ts'
import type { RequestHead } from '../../src/http/headers.ts'

const head = (method: string, headers: string[] = [], target = '/mcp'): RequestHead => ({
  method,
  target,
  version: '1.1',
  headers,
})
const JSON_POST = head('POST', ['Content-Type', 'application/json'])

function posted(body: unknown, headers: string[] = [], isSsePost = false) {
  const transport = isSsePost ? 'http+sse' : 'streamable-http'
  const result = classifyBody(
    factsOf(head('POST', headers)),
    Buffer.from(JSON.stringify(body)),
    transport,
  )
  if (result.kind !== 'messages') throw new Error(result.reason)
  return result
}
const call = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

test.each([
  ['post', JSON_POST],
  ['post', head('POST', ['CONTENT-TYPE', 'Application/JSON ; charset=utf-8'])],
  ['http', head('POST', ['content-type', 'application/jsonp'])],
  ['http', head('POST', ['content-type', 'application/x-www-form-urlencoded'])],
  ['http', head('POST')],
  ['http', head('post', ['content-type', 'application/json'])],
  ['stream', head('GET', ['accept', 'text/event-stream'])],
  ['stream', head('GET', ['Accept', 'application/json, Text/Event-Stream;q=0.5'])],
  ['stream', head('GET', ['accept', 'text/html', 'accept', 'text/event-stream'])],
  ['http', head('GET', ['accept', 'text/event-stream;q=0, */*'])],
  ['http', head('GET', ['accept', '*/*'])],
  ['http', head('GET', ['accept', 'text/event-stream'], '/.well-known/x')],
  ['session-end', head('DELETE', ['MCP-Session-Id', 's'])],
  ['http', head('DELETE')],
  ['http', head('OPTIONS', ['content-type', 'application/json'])],
  ['http', head('HEAD', ['accept', 'text/event-stream'])],
])('%s: %j', (kind, request) => {
  expect(factsOf(request).kind).toBe(kind)
})

test.each([
  ['tools/call', { name: 'a' }, 'a'],
  ['prompts/get', { name: 'p' }, 'p'],
  ['resources/read', { uri: 'file:///x' }, 'file:///x'],
  ['resources/subscribe', { uri: 'u' }, 'u'],
  ['resources/unsubscribe', { uri: 'u' }, 'u'],
  ['tasks/get', { taskId: 't' }, 't'],
  ['tools/list', { name: 'a' }, undefined],
  ['tools/call', { arguments: { name: 'a' } }, undefined],
  ['tools/call', null, undefined],
])('%s %j is about %j', (method, params, name) => {
  expect(posted(call(method, params)).calls[0]).toMatchObject({
    method,
    name,
    transport: 'streamable-http',
  })
})

test('Mcp-Method and Mcp-Name that say what the body says change nothing', () => {
  const modern = ['MCP-Protocol-Version', '2026-07-28']
  const headers = [...modern, 'Mcp-Method', 'tools/call', 'Mcp-Name', '=?base64?cmVhbA==?=']
  const result = posted(call('tools/call', { name: 'real' }), headers)
  expect(result.calls[0]).toMatchObject({ method: 'tools/call', name: 'real' })
  // Where the body names nothing, nothing is compared.
  expect(posted(call('tools/list'), [...modern, 'Mcp-Name', 'other']).calls).toHaveLength(1)
  expect(posted({ jsonrpc: '2.0', id: 1, result: {} }, headers).others).toHaveLength(1)
  // Nor does anybody before protocol version 2026-07-28.
  const stray = ['Mcp-Method', 'ping', 'Mcp-Name', 'other']
  expect(posted(call('tools/call', { name: 'real' }), stray).calls[0]).toMatchObject({
    method: 'tools/call',
    name: 'real',
  })
})

test.each([
  [{ name: 5 }, 'unclear_name'],
  [['a'], 'unclear_name'],
  [{ Name: 'a' }, 'key_variant'],
])('a call with the parameters %j is not read', (params, reason) => {
  expect(() => posted(call('tools/call', params))).toThrow(reason)
})

test('a body that is nested too deeply is not read, and throws nothing', () => {
  const deep = `{"jsonrpc":"2.0","id":1,"method":"x","params":${'['.repeat(7e3)}${']'.repeat(7e3)}}`
  const result = classifyBody(factsOf(JSON_POST), Buffer.from(deep), 'streamable-http')
  expect(result).toEqual({ kind: 'unclassified', reason: 'too_complex' })
})

test('keys in any JSON are counted as JSON.parse reads them, unless one is there twice', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(0, 2), (text, space) => {
      const value: unknown = JSON.parse(text)
      expect(countKeys(JSON.stringify(value, null, space))).toBe(countMembers(value))
    }),
    { numRuns: 500 },
  )
  const long = fc.array(fc.constantFrom('"', '\\', ':', 'x'.repeat(80), '日'), { maxLength: 60 })
  fc.assert(
    fc.property(long, (parts) => {
      const text = JSON.stringify({ a: parts.join(''), b: 1 })
      expect(countKeys(text)).toBe(2)
      expect(countKeys(text.replace('"b"', '"a"'))).toBe(2)
    }),
  )
})

describe('the protocol version', () => {
  const header = ['MCP-Protocol-Version', '2025-06-18']
  const meta = {
    _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', progressToken: 0 },
  }

  test('is what the body says, else the header', () => {
    expect(posted(call('tools/call', meta), header)).toMatchObject({
      protocolVersion: '2026-07-28',
      calls: [{ protocolVersion: '2026-07-28', progressToken: 0 }],
    })
    expect(
      posted(call('initialize', { protocolVersion: '2025-03-26' }), header).protocolVersion,
    ).toBe('2025-03-26')
    expect(posted(call('tools/call', { protocolVersion: 'x' }), header).protocolVersion).toBe(
      '2025-06-18',
    )
    expect(posted(call('tools/list')).protocolVersion).toBeUndefined()
  })

  test('is not taken when it is no short string', () => {
    expect(posted(call('initialize', { protocolVersion: 7 })).protocolVersion).toBeUndefined()
    expect(
      posted(call('initialize', { protocolVersion: 'x'.repeat(65) })).protocolVersion,
    ).toBeUndefined()
  })
})

test('the client introduces itself on initialize or in _meta, within bounds', () => {
  const info = { name: 'n'.repeat(1000), version: '1' }
  expect(posted(call('initialize', { clientInfo: info })).client).toEqual({
    name: 'n'.repeat(256),
    version: '1',
  })
  expect(posted(call('tools/list', { clientInfo: info })).client).toBeUndefined()
  const meta = { _meta: { 'io.modelcontextprotocol/clientInfo': { name: 'c' } } }
  expect(posted(call('tools/list', meta)).client).toEqual({ name: 'c', version: '' })
})

test('a batch keeps calls, notifications and posted responses apart', () => {
  const result = posted(
    [
      call('tools/call', { name: 'a' }, 0),
      call('ping', undefined, '0'),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 0, result: {} },
      { jsonrpc: '2.0', id: 1, error: { code: 1, message: '' } },
    ],
    ['mcp-session-id', 's1'],
    true,
  )
  expect(result).toMatchObject({ batch: true, session: 's1' })
  expect(result.calls.map((c) => [c.id, c.transport])).toEqual([
    [0, 'http+sse'],
    ['0', 'http+sse'],
  ])
  expect(
    result.others.map(({ kind, id, method, callsBefore }) => [kind, id, method, callsBefore]),
  ).toEqual([
    ['notification', undefined, 'notifications/initialized', 2],
    ['response', 0, '', 2],
    ['response', 1, '', 2],
  ])
})

test('no body and no head makes it throw', () => {
  const params = fc.oneof(
    fc.jsonValue(),
    fc.record({ _meta: fc.jsonValue(), name: fc.jsonValue(), clientInfo: fc.jsonValue() }),
  )
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({
        jsonrpc: fc.constant('2.0'),
        id: fc.jsonValue(),
        method: fc.constantFrom('initialize', 'tools/call'),
        params,
      })
      .map((value) => JSON.stringify(value)),
    fc.uint8Array().map((bytes) => Buffer.from(bytes).toString()),
  )
  const lines = fc.array(
    fc.oneof(fc.constantFrom('accept', 'content-type', 'mcp-session-id'), fc.string()),
  )
  fc.assert(
    fc.property(
      body,
      lines,
      fc.constantFrom('GET', 'POST', 'DELETE'),
      fc.string(),
      (text, headers, method, target) => {
        const request = head(method, headers, target)
        expect(factsOf(request).kind).toBeTypeOf('string')
        expect(['messages', 'unclassified']).toContain(
          classifyBody(factsOf(request), Buffer.from(text), 'streamable-http').kind,
        )
      },
    ),
    { numRuns: 500 },
  )
})

test('handshakes and exempt paths', () => {
  for (const m of ['initialize', 'server/discover', 'ping']) expect(isHandshake(m)).toBe(true)
  for (const m of ['tools/call', 'notifications', 'initialize2']) expect(isHandshake(m)).toBe(false)
  for (const p of [
    '/.well-known/oauth-protected-resource/mcp',
    '/t/.well-known/x',
    '/token',
    '/oauth2/x',
    '/healthz',
    '/ready/',
    '/metrics',
  ]) {
    expect(isExemptPath(p), p).toBe(true)
  }
  for (const p of ['/mcp', '/', '/tokens', '/healthy', '/metrics/x', '/sse', ''])
    expect(isExemptPath(p), p).toBe(false)
})
