import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_MESSAGES, parseMessages, toMessage } from '../../src/mcp/json-rpc.ts'

const rpc = (rest: object) => ({ jsonrpc: '2.0', ...rest })

test.each([0, -1, 1.5, '', '1', 'ünï-日本', 1e15])('the id %j makes a request', (id) => {
  expect(toMessage(rpc({ id, method: 'ping' }))).toEqual({
    kind: 'request',
    id,
    method: 'ping',
    params: undefined,
  })
})

test.each([
  ['notification', rpc({ method: 'notifications/cancelled' })],
  ['result', rpc({ id: 0, result: null })],
  ['result', rpc({ id: 0, result: {}, error: null })],
  ['error', rpc({ id: 0, error: { code: 1 } })],
  ['error', rpc({ id: null, error: {} })],
  ['error', rpc({ error: {} })],
])('tells a %s', (kind, value) => {
  expect(toMessage(value)?.kind).toBe(kind)
})

test.each([
  [null],
  [1],
  ['x'],
  [[]],
  [{}],
  [{ id: 1, method: 'x' }],
  [{ jsonrpc: '1.0', id: 1, method: 'x' }],
  [rpc({ id: null, method: 'x' })],
  [rpc({ id: {}, method: 'x' })],
  [rpc({ id: 1, method: 5 })],
  [rpc({ id: 1 })],
  [rpc({ result: {} })],
  [rpc({ id: [], error: {} })],
])('%j is no message', (value) => {
  expect(toMessage(value)).toBeUndefined()
})

test('an id above what a number holds is none', () => {
  expect(parseMessages('{"jsonrpc":"2.0","id":1e999,"method":"x"}')).toEqual({
    ok: false,
    reason: 'not_json_rpc',
  })
})

test('the last of duplicate keys counts, and __proto__ is a key like others', () => {
  const text =
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b","__proto__":{"params":{"name":"x"}}}'
  expect(parseMessages(text)).toMatchObject({
    messages: [{ kind: 'request', id: 2, method: 'b', params: undefined }],
  })
  expect(parseMessages('{"__proto__":{"jsonrpc":"2.0","id":1,"method":"a"}}')).toMatchObject({
    ok: false,
  })
})

test('a body is not JSON, not JSON-RPC, or too many messages', () => {
  const one = '{"jsonrpc":"2.0","method":"a"}'
  const many = (n: number) => `[${Array.from({ length: n }, () => one).join(',')}]`
  expect(parseMessages('')).toMatchObject({ reason: 'not_json' })
  expect(parseMessages(`${one}${one}`)).toMatchObject({ reason: 'not_json' })
  expect(parseMessages('[]')).toMatchObject({ reason: 'not_json_rpc' })
  expect(parseMessages(`[${one},1]`)).toMatchObject({ reason: 'not_json_rpc' })
  expect(parseMessages(many(MAX_MESSAGES))).toMatchObject({ ok: true, batch: true })
  expect(parseMessages(many(MAX_MESSAGES + 1))).toMatchObject({ reason: 'too_many_messages' })
  expect(parseMessages(`\ufeff${one}`)).toMatchObject({ ok: true, batch: false })
  expect(parseMessages('['.repeat(200_000))).toMatchObject({ ok: false })
})

test('nothing makes it throw', () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseMessages(text)))
})
