import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import {
  event,
  failure,
  json,
  LAST_CHUNK,
  post,
  request,
  result,
  Stage,
  stream,
  streamHead,
} from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

const call = (id: unknown, name: string) => request(id, 'tools/call', { name })
const BATCH = [
  call(0, 'a'),
  { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
  call('0', 'b'),
  call(-1, 'c'),
  result('server-1', { roots: [] }),
  call(2, 'd'),
]
const RESPONSES = [
  failure(-1),
  result('0', { content: [], isError: true }),
  result(0, { content: [] }),
]

const partly = {
  'tools/call a: ok': 1,
  'tools/call b: tool_error': 1,
  'tools/call c: rpc_error': 1,
  'tools/call d: incomplete': 1,
}

test.each([
  ['an array', [json(RESPONSES)]],
  [
    'an array in gzip',
    [json(gzipSync(JSON.stringify(RESPONSES)), '200 OK', ['Content-Encoding', 'gzip'])],
  ],
  ['events of one stream', stream(...RESPONSES)],
  ['an array in one event', stream(RESPONSES)],
  ['an array beside an event', stream(RESPONSES.slice(0, 2), RESPONSES[2])],
])('each call of a batch ends by its own response in %s', async (_how, pieces) => {
  stage = await Stage.open((exchange) => void exchange.send(pieces))
  await stage.exchange(post(BATCH))
  await stage.ends(partly)
  expect(await stage.http()).toEqual({})
})

test('a batch of which a part was answered before the reset', async () => {
  stage = await Stage.open(async (exchange) => {
    await exchange.send([streamHead(), event(RESPONSES[0]), event(RESPONSES[2])])
    await exchange.resetAfterReads()
  })
  await stage.exchange(post(BATCH))
  await stage.ends({
    'tools/call a: ok': 1,
    'tools/call b: reset': 1,
    'tools/call c: rpc_error': 1,
    'tools/call d: reset': 1,
  })
})

test('a status is the outcome of every call of a batch', async () => {
  stage = await Stage.open((exchange) => void exchange.send([json('{}', '429 Too Many Requests')]))
  await stage.exchange(post([call(1, 'a'), call(2, 'a'), request(3, 'initialize', {})]))
  await stage.ends({ 'tools/call a: http_error': 2, 'initialize: http_error': 1 })
})

test('an error without an id answers every call that has nothing else', async () => {
  stage = await Stage.open((exchange) => void exchange.send([json([result(1), failure(null)])]))
  await stage.exchange(post([call(1, 'a'), call(2, 'b'), call(3, 'b')]))
  await stage.ends({ 'tools/call a: ok': 1, 'tools/call b: rpc_error': 2 })
})

test.each([
  ['an array', [json([result(1), failure(1), result(1)])]],
  ['events', stream(result(1), failure(1), result(1))],
  ['an event', stream([result(1), failure(1), result(1)])],
])('of two calls with one id in a batch, each takes one response of %s', async (_how, pieces) => {
  stage = await Stage.open((exchange) => void exchange.send(pieces))
  await stage.exchange(post([call(1, 'a'), call(1, 'b')], 'Mcp-Session-Id: s\r\n'))
  await stage.ends({ 'tools/call a: ok': 1, 'tools/call b: rpc_error': 1 })
  expect(await stage.byReason('table_evictions')).toEqual({})
})

test('a call is answered in one event with its progress', async () => {
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }
  stage = await Stage.open((exchange) => void exchange.send(stream([progress, result(1)])))
  await stage.exchange(post(call(1, 'a')))
  await stage.ends({ 'tools/call a: ok': 1 })
})

test('a batch of notifications and answers is no call', async () => {
  stage = await Stage.open(
    (exchange) => void exchange.send(['HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n']),
  )
  await stage.exchange(post(BATCH.filter((message) => !('id' in message && 'method' in message))))
  await expect.poll(() => stage.http()).toEqual({ 'mcp 202': 1 })
  expect(await stage.calls()).toEqual({})
})

test('a client that leaves in the middle of a batch abandons what is still open', async () => {
  stage = await Stage.open((exchange) => void exchange.send([streamHead(), event(result(0))]))
  const client = await stage.send(post([call(0, 'a'), call(1, 'b')]))
  await client.sees('"result"')
  client.close()
  await stage.ends({ 'tools/call a: ok': 1, 'tools/call b: abandoned': 1 })
})

test('a batch of more messages than are read is counted as passed unread', async () => {
  stage = await Stage.open((exchange) => void exchange.send([json('[]')]))
  await stage.exchange(post(Array.from({ length: 101 }, (_, id) => call(id, 'a'))))
  await expect.poll(() => stage.byReason('unclassified')).toEqual({ too_many_messages: 1 })
  await expect.poll(() => stage.http()).toEqual({ 'http 200': 1 })
  expect(await stage.calls()).toEqual({})
})

test('the end of a stream comes once, however its chunks are cut', async () => {
  const messages = RESPONSES.map((message) => ({ ...message, text: '日本 🦑 ü' }))
  const whole = Buffer.concat(stream(...messages).map((piece) => Buffer.from(piece)))
  stage = await Stage.open(
    (exchange) => void exchange.send(Array.from(whole, (_, i) => whole.subarray(i, i + 1))),
  )
  await stage.exchange(post(BATCH))
  await stage.ends(partly)
  expect(whole.subarray(-5).toString()).toBe(LAST_CHUNK)
})
