import { afterEach, describe, expect, test } from 'vitest'
import { response, type Script } from '../support/wire.ts'
import {
  event,
  failure,
  json,
  LAST_CHUNK,
  modern,
  post,
  request,
  result,
  Stage,
  stream,
  streamHead,
} from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

type Case = readonly [outcome: string, what: string, script: Script]

const says =
  (...pieces: readonly (string | Buffer)[]): Script =>
  (exchange) =>
    void exchange.send(pieces)
const saysAndEnds =
  (...pieces: readonly (string | Buffer)[]): Script =>
  async (exchange) => {
    await exchange.send(pieces)
    exchange.fin()
  }
const saysAndResets =
  (...pieces: readonly (string | Buffer)[]): Script =>
  async (exchange) => {
    await exchange.send(pieces)
    await exchange.resetAfterReads()
  }

const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }
const failed = result(7, { content: [], isError: true })
const half =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half"'

const responses: readonly Case[] = [
  ['ok', 'a result', says(json(result(7)))],
  ['ok', 'a result in an event stream', says(...stream(progress, result(7)))],
  ['ok', 'the same result twice', says(...stream(result(7), result(7)))],
  ['ok', 'a result, and then an error', says(...stream(result(7), failure(7)))],
  ['ok', 'a request for more input', says(json(result(7, { resultType: 'input_required' })))],
  ['ok', 'a task', says(...stream(result(7, { resultType: 'task', taskId: 't' })))],
  [
    'ok',
    'a result whose stream is reset afterwards',
    saysAndResets(streamHead(), event(result(7))),
  ],
  ['ok', 'a result whose stream is cut afterwards', saysAndEnds(streamHead(), event(result(7)))],
  [
    'ok',
    'a result that ends with the connection',
    saysAndEnds(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(result(7))}`,
    ),
  ],
  ['tool_error', 'a tool that failed', says(json(failed))],
  ['tool_error', 'a tool that failed, in an event stream', says(...stream(progress, failed))],
  ['rpc_error', 'an error', says(json(failure(7)))],
  ['rpc_error', 'an error in an event stream', says(...stream(failure(7)))],
  ['rpc_error', 'an error without an id', says(json(failure(null)))],
  [
    'rpc_error',
    'an error that for a handshake would be part of the negotiation',
    says(json(failure(7, -32601))),
  ],
  [
    'http_error',
    'a status',
    says(response('503 Service Unavailable', ['Content-Type', 'text/html'], '<p>no')),
  ],
  [
    'http_error',
    'a status with an error of JSON-RPC, in a protocol version that shows the status',
    says(json(failure(7), '400 Bad Request')),
  ],
  ['http_error', 'a session that is not known', says(json(failure(null, -32001), '404 Not Found'))],
  [
    'http_error',
    'a status with an event stream',
    says(...stream(result(7)).with(0, streamHead().replace('200 OK', '500 Oops'))),
  ],
  [
    'http_error',
    'a redirect that loses the method',
    says(response('302 Found', ['Location', '/'], '')),
  ],
  ['reset', 'a reset before the response', saysAndResets()],
  ['reset', 'a reset inside JSON', saysAndResets(half)],
  ['reset', 'a reset inside an event stream', saysAndResets(streamHead(), event(progress))],
  ['reset', 'a close before the response', saysAndEnds()],
  ['incomplete', 'JSON cut short', saysAndEnds(half)],
  ['incomplete', 'JSON that is none', says(json('{"jsonrpc":"2.0","id":7,"result":{'))],
  ['incomplete', 'an empty response', says(json(''))],
  ['incomplete', 'the response to another call', says(json(result(8)))],
  [
    'incomplete',
    'the response to another call, in a large body',
    says(json(result(70, { text: 'x'.repeat(20_000) }))),
  ],
  ['incomplete', 'the response to another call, in an event stream', says(...stream(result(8)))],
  ['incomplete', 'a response to the same id as text', says(json(result('7')))],
  ['incomplete', '202', says(response('202 Accepted', [], ''))],
  ['incomplete', '204', says('HTTP/1.1 204 No Content\r\n\r\n')],
  ['incomplete', 'an event stream that ends without answering', says(...stream(progress))],
  ['incomplete', 'an event stream without an event', says(streamHead(), LAST_CHUNK)],
  ['incomplete', 'an event stream that is cut', saysAndEnds(streamHead(), event(progress))],
  [
    'incomplete',
    'a last event without its blank line',
    says(streamHead(), event(result(7)).subarray(0, -4), '\r\n', LAST_CHUNK),
  ],
  [
    'incomplete',
    'a request of the server with the same id',
    says(...stream(request(7, 'sampling/createMessage', {}))),
  ],
]

test.each(responses)('%s: %s', async (outcome, _what, script) => {
  stage = await Stage.open(script)
  await stage.exchange(post(request(7)))
  await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
  expect(await stage.http()).toEqual({})
  expect(await stage.sum('squall_call_duration_seconds', '_count')).toBe(1)
  expect(await stage.sum('squall_upstream_duration_seconds', '_count')).toBe(1)
})

const modernResponses: readonly Case[] = [
  [
    'rpc_error',
    'an error with the status of a bad request',
    says(json(failure(7), '400 Bad Request')),
  ],
  ['rpc_error', 'an unknown method', says(json(failure(7, -32601), '404 Not Found'))],
  ['http_error', 'an error of JSON-RPC with another status', says(json(failure(7), '500 Oops'))],
  ['http_error', 'an error with another id', says(json(failure(8), '400 Bad Request'))],
]

test.each(modernResponses)('from 2026-07-28 on, %s: %s', async (outcome, _what, script) => {
  stage = await Stage.open(script)
  await stage.exchange(post(modern(7)))
  await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
})

describe('finding out the protocol version is no error', () => {
  test.each([
    ['initialize', json(failure(7, -32022), '400 Bad Request')],
    ['initialize', json(failure(7, -32602, { supported: ['2025-06-18'] }))],
    ['initialize', response('405 Method Not Allowed', ['Allow', 'GET'], '')],
    ['server/discover', json(failure(7, -32601))],
    ['server/discover', json(failure(null, -32000), '400 Bad Request')],
    ['server/discover', response('404 Not Found', [], 'nothing here')],
  ])('%s', async (method, bytes) => {
    stage = await Stage.open(says(bytes))
    await stage.exchange(post(request(7, method, {})))
    await stage.ends({ [`${method}: ok`]: 1 })
  })

  test.each([
    ['initialize', json('{}', '401 Unauthorized'), 'http_error'],
    ['server/discover', json('{}', '503 Oops'), 'http_error'],
    ['initialize', json(failure(7, -32603)), 'rpc_error'],
  ])('but another refusal of %s is one', async (method, bytes, outcome) => {
    stage = await Stage.open(says(bytes))
    await stage.exchange(post(request(7, method, {})))
    await stage.ends({ [`${method}: ${outcome}`]: 1 })
  })
})

test('methods that are not of MCP share one name, and tools are counted by theirs', async () => {
  stage = await Stage.open((exchange) => void exchange.send([json(result(1))]))
  for (const message of [
    request(1, 'x/secret', {}),
    request(1, 'y/secret', {}),
    request(1, 'tools/call', { name: 'search' }),
    request(1, 'tools/call', { name: 'search' }),
    request(1, 'prompts/get', { name: 'search' }),
  ]) {
    await stage.exchange(post(message))
  }
  await stage.ends({ 'other: ok': 2, 'tools/call search: ok': 2, 'prompts/get: ok': 1 })
})
