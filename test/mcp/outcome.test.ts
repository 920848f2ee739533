import { describe, expect, test } from 'vitest'
import { endingsOfJsonBody } from '../../src/mcp/body-outcome.ts'
import type { RequestCall, JsonRpcId } from '../../src/mcp/call.ts'
import type { Message } from '../../src/mcp/json-rpc.ts'
import { outcomeOf, outcomeOfMessage } from '../../src/mcp/outcome.ts'

const MODERN = '2026-07-28'
const call = (method = 'tools/call', protocolVersion?: string, id: JsonRpcId = 1): RequestCall => ({
  id,
  method,
  protocolVersion,
  name: undefined,
  params: undefined,
  transport: 'streamable-http',
  progressToken: undefined,
})
const result = (value: unknown): Message => ({ kind: 'result', id: 1, result: value })
const error = (code: number, data?: unknown): Message => ({
  kind: 'error',
  id: 1,
  error: { code, message: '', data },
})
const outcomesOf = (...args: Parameters<typeof endingsOfJsonBody>): string[] =>
  endingsOfJsonBody(...args).map(({ outcome }) => outcome)
const body = (rest: object) => JSON.stringify({ jsonrpc: '2.0', ...rest })

test.each([
  ['ok', result({ content: [] })],
  ['ok', result({ isError: false })],
  ['ok', result({ isError: 'true' })],
  ['incomplete', result(null)],
  ['incomplete', result([])],
  ['ok', result({ resultType: 'input_required' })],
  ['ok', result({ resultType: 'task' })],
  ['tool_error', result({ isError: true })],
  ['rpc_error', error(-32602)],
] as const)('%s for %j', (outcome, message) => {
  expect(outcomeOfMessage(message)).toBe(outcome)
  expect(outcomeOf(call(), message)).toBe(outcome)
})

test.each([
  ['tasks/result', undefined, result({ isError: true }), 'tool_error'],
  ['tasks/get', '2025-11-25', result({ status: 'failed' }), 'ok'],
  ['tasks/get', MODERN, result({ status: 'failed' }), 'tool_error'],
  ['tasks/get', MODERN, result({ status: 'failed', error: { code: 1 } }), 'rpc_error'],
  ['tasks/get', MODERN, result({ status: 'completed', result: { isError: true } }), 'tool_error'],
  ['tasks/get', MODERN, result({ status: 'working' }), 'ok'],
  ['tools/call', MODERN, result({ status: 'failed' }), 'ok'],
  ['server/discover', MODERN, error(-32601), 'ok'],
  ['server/discover', MODERN, error(-32022), 'ok'],
  ['server/discover', MODERN, error(-32603), 'rpc_error'],
  ['initialize', undefined, error(-32022), 'ok'],
  ['initialize', undefined, error(-32602), 'rpc_error'],
  ['initialize', undefined, error(-32602, { supported: [] }), 'ok'],
  ['tools/call', MODERN, error(-32022), 'rpc_error'],
] as const)('%s in %s with %j is %4$s', (method, protocolVersion, message, outcome) => {
  expect(outcomeOf(call(method, protocolVersion), message)).toBe(outcome)
})

describe('a whole response', () => {
  const rpcError = body({ id: 1, error: { code: -32601, message: '' } })
  test.each([
    [200, 'ok', body({ id: 1, result: {} }), call()],
    [200, 'incomplete', body({ id: '1', result: {} }), call()],
    [200, 'incomplete', '', call()],
    [200, 'incomplete', body({ id: 1, result: {} }).slice(0, -1), call()],
    [200, 'incomplete', body({ id: 1, method: 'ping' }), call()],
    [200, 'rpc_error', body({ id: null, error: { code: -32700 } }), call()],
    [202, 'incomplete', '', call()],
    [204, 'incomplete', '', call()],
    [307, 'http_error', '', call()],
    [302, 'http_error', '', call()],
    [400, 'rpc_error', rpcError, call('tools/call', MODERN)],
    [404, 'rpc_error', rpcError, call('tools/call', MODERN)],
    [500, 'http_error', rpcError, call('tools/call', MODERN)],
    [400, 'http_error', rpcError, call('tools/call', '2025-11-25')],
    [400, 'http_error', body({ id: null, error: {} }), call('tools/call', MODERN)],
    [404, 'http_error', body({ id: null, error: { code: -32001 } }), call()],
    [429, 'http_error', 'slow down', call()],
    [400, 'ok', '', call('server/discover', MODERN)],
    [404, 'ok', rpcError, call('server/discover', MODERN)],
    [405, 'ok', '', call('initialize')],
    [401, 'http_error', '', call('server/discover', MODERN)],
    [503, 'http_error', '', call('initialize')],
  ] as const)('%i is %s: %s', (status, outcome, text, to) => {
    expect(outcomesOf([to], status, text)).toEqual([outcome])
    expect(outcomesOf([to], status, new Uint8Array(Buffer.from(text)))).toEqual([outcome])
  })

  test('of a batch is reported call by call, ids of two types and repeated ids kept apart', () => {
    const calls = [
      call('tools/call', undefined, 1),
      call('tools/call', undefined, '1'),
      call(),
      call('ping', undefined, 9),
    ]
    const text = JSON.stringify([
      { jsonrpc: '2.0', id: '1', result: { isError: true } },
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 1, error: { code: 1 } },
    ])
    expect(outcomesOf(calls, 200, text)).toEqual(['ok', 'tool_error', 'rpc_error', 'incomplete'])
  })

  test.each([
    ['ok', { id: 1, result: { content: 'x'.repeat(20_000) } }],
    ['tool_error', { id: 1, result: { content: 'x'.repeat(20_000), isError: true } }],
    ['rpc_error', { id: 1, error: { message: 'x'.repeat(20_000) } }],
    ['incomplete', { id: 2, result: { content: 'x'.repeat(20_000) } }],
  ])('that is large is %s just as a small one', (outcome, message) => {
    for (const text of [
      body(message),
      `${body(message)}\n`,
      JSON.stringify({ jsonrpc: '2.0', ...message }, null, 1),
    ]) {
      expect(outcomesOf([call()], 200, text)).toEqual([outcome])
      expect(outcomesOf([call()], 200, Buffer.from(text))).toEqual([outcome])
    }
  })

  test('that is large and spells isError with an escape does not get by', () => {
    const text = body({ id: 1, result: { content: 'x'.repeat(20_000), isError: true } }).replace(
      'isError',
      String.raw`is\u0045rror`,
    )
    expect(outcomesOf([call()], 200, text)).toEqual(['tool_error'])
  })
})
