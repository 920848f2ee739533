import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { chunk } from '../support/wire.ts'
import { failure, LAST_CHUNK, POLL, post, request, result } from '../accounting/stage.ts'
import { oneFault } from './one-fault.ts'
import { chunksOf, heard, hears, PushApp, said } from './push-app.ts'

let app: PushApp
afterEach(async () => {
  expect(app.faults.broken).toEqual([])
  await app.stage.close()
  expect(app.faults.active).toBe(0)
})

const hold = (at: 'response' | 'event', tool = 'echo'): RuleSpec =>
  oneFault(`delay: { fixed: 10m, max: 10m, at: ${at} }`, `match: { tool: ${tool} }`, 'slow')
const abort = (reply: object, at: 'request' | 'response', tool = 'echo'): RuleSpec =>
  oneFault(`abort: ${JSON.stringify({ ...reply, at })}`, `match: { tool: ${tool} }`)
const MARK = ': x-squall-fault bad/abort\n\n'
const LATE = ': x-squall-fault slow/delay\n\n'
const BAD = { content: [{ type: 'text', text: 'db lost' }], isError: true }
const progress = (progressToken: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, progress: 1 },
})

/** Waits until a fault sleeps. */
const sleeping = (count = 1): Promise<void> =>
  expect.poll(() => app.faults.injected.length, POLL).toBe(count)

test('a call that is aborted before the upstream gets it is answered on the stream', async () => {
  app = await PushApp.open([abort({ toolError: 'db lost' }, 'request')])
  const client = await app.listen('a')
  await app.call('a', 7)
  await app.stage.ends({ 'tools/call echo: tool_error by injected': 1 })
  await client.sees('db lost')
  await hears(client, MARK + said(result(7, BAD)))
  expect(app.stage.app.requests).toHaveLength(1)
  expect(app.faults.counts()).toMatchObject({ injected: 1, not_applicable: 0 })
  expect(await app.stage.sum('squall_upstream_duration_seconds', '_count')).toBe(0)
})

test('an injected event waits for the end of the one that the upstream is writing', async () => {
  app = await PushApp.open([abort({ toolError: 'db lost' }, 'request')])
  const client = await app.listen('a')
  const note = said(progress('other'))
  app.say(note.slice(0, 30))
  await client.sees(note.slice(20, 30))
  await app.call('a', 7)
  await hears(client, note.slice(0, 30))
  app.say(note.slice(30) + note.slice(0, 9))
  await client.sees('db lost')
  app.say(note.slice(9))
  const all = note + MARK + said(result(7, BAD)) + note
  await hears(client, all)
  await app.stage.ends({ 'tools/call echo: tool_error by injected': 1 })
})

test('a response of the upstream is replaced on the stream, and keeps its id and retry', async () => {
  app = await PushApp.open([abort({ rpcError: { code: -5, message: 'gone' } }, 'response')])
  const client = await app.listen('a')
  await app.call('a', 'x')
  await app.call('a', 2, 'other')
  app.say(said(result('x'), 'id: e1\nretry: 9\n') + said(result(2)))
  await app.stage.ends({ 'tools/call echo: rpc_error by injected': 1, 'tools/call other: ok': 1 })
  const error = { jsonrpc: '2.0', id: 'x', error: { code: -5, message: 'gone' } }
  const replaced = `${MARK}id: e1\nretry: 9\n${said(error)}`
  const either = [replaced + said(result(2)), said(result(2)) + replaced]
  await expect.poll(() => either.includes(heard(client)), POLL).toBe(true)
  expect(app.faults.counts()).toMatchObject({ injected: 1 })
})

test('a sleeping response holds up nobody else', async () => {
  app = await PushApp.open([hold('response')])
  const client = await app.listen('a')
  const other = await app.listen('b')
  await app.call('a', 1)
  await app.call('a', 2, 'other')
  await app.call('b', 1, 'other')
  app.say(said(result(1)))
  await sleeping()
  const rest = `: keep\n\n${said(request(1, 'roots/list', {}))}${said(result(2))}${said(progress(1))}`
  app.say(rest)
  app.say(said(result(1)), 1)
  await app.stage.ends({ 'tools/call other: ok': 2 })
  await client.sees('"progress":1')
  await other.sees('"result"')
  await hears(client, rest)
  await hears(other, said(result(1)))
  app.faults.take([])
  await app.stage.ends({ 'tools/call other: ok': 2, 'tools/call echo: ok': 1 })
  await hears(client, rest + LATE + said(result(1)))
})

test('bytes pass chunk by chunk while no response is expected, and again after the last one', async () => {
  app = await PushApp.open([abort({ toolError: 'db lost' }, 'response')])
  const client = await app.listen('a')
  const pieces = ['event: mess', 'age\ndata: {"jsonrpc":"2.0",', '"method":"x"}\r', '\n\r\n', ': k']
  for (const piece of pieces) {
    app.say(piece)
    await expect.poll(() => chunksOf(client).at(-1), POLL).toBe(piece)
  }
  await app.call('a', 1)
  app.say('eep\n\n' + said(result(1)))
  await client.sees('db lost')
  await app.stage.ends({ 'tools/call echo: tool_error by injected': 1 })
  for (const piece of pieces) {
    app.say(piece)
    await expect.poll(() => chunksOf(client).at(-1), POLL).toBe(piece)
  }
  const { join } = Array.prototype
  const before = join.call(pieces, '')
  await hears(client, `${before}eep\n\n${MARK}${said(result(1, BAD))}${before}`)
})

test('what is half sent when a call arms the stream passes as it comes', async () => {
  app = await PushApp.open([hold('response')])
  const client = await app.listen('a')
  const note = said(progress('other'))
  app.say(note.slice(0, 10))
  await hears(client, note.slice(0, 10))
  await app.call('a', 1)
  app.say(note.slice(10, 20))
  await hears(client, note.slice(0, 20))
  app.say(note.slice(20) + note.slice(0, 5))
  await hears(client, note)
  await app.stage.exchange(
    post(
      {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 1, reason: 'stop' },
      },
      '',
      '/message?sessionId=a',
    ),
  )
  // Nothing is expected any more: what was held of the next event goes.
  await hears(client, note + note.slice(0, 5))
  await app.stage.ends({ 'tools/call echo: cancelled': 1 })
})

test('events of a call keep their order, and progress is delayed with its own call', async () => {
  app = await PushApp.open([hold('event')])
  const client = await app.listen('a')
  await app.call('a', 1, 'echo', { _meta: { progressToken: 't' } })
  app.say(said(progress('t')) + said(result(1)))
  await sleeping()
  expect(heard(client)).toBe('')
  app.faults.take([])
  await app.stage.ends({ 'tools/call echo: ok': 1 })
  await hears(client, LATE + said(progress('t')) + said(result(1)))
})

test('a delay does not count as time of the upstream', async () => {
  app = await PushApp.open([oneFault('delay: { fixed: 300ms, at: response }')])
  await app.listen('a')
  await app.call('a', 1)
  app.say(said(result(1)))
  await app.stage.ends({ 'tools/call echo: ok': 1 })
  const whole = await app.stage.sum('squall_call_duration_seconds', '_sum')
  expect(whole).toBeGreaterThan(0.29)
  const upstream = await app.stage.sum('squall_upstream_duration_seconds', '_sum')
  expect(upstream).toBeLessThan(whole - 0.29)
})

test.each([
  ['ends', (): void => void app.streams[0]!.write(LAST_CHUNK)],
  ['is cut', (): void => app.streams[0]!.fin()],
])('when the stream %s, what sleeps is sent before', async (_how, act) => {
  app = await PushApp.open([hold('response')])
  const client = await app.listen('a')
  await app.call('a', 1)
  await app.call('a', 2, 'other')
  app.say(said(result(1)))
  await sleeping()
  act()
  await app.stage.ends({ 'tools/call echo: ok': 1, 'tools/call other: incomplete': 1 })
  await client.sees('"result"')
  await hears(client, LATE + said(result(1)))
})

test('when the client leaves while its response sleeps, the fault ended the call', async () => {
  app = await PushApp.open([hold('response')])
  const client = await app.listen('a')
  await app.call('a', 1)
  await app.call('a', 2, 'other')
  app.say(said(result(1)))
  await sleeping()
  client.close()
  await app.stage.ends({
    'tools/call echo: abandoned by injected': 1,
    'tools/call other: abandoned': 1,
  })
  expect(app.faults.active).toBe(0)
})

test('when the client gives up a delayed call, the response is sent', async () => {
  app = await PushApp.open([hold('response')])
  const client = await app.listen('a')
  await app.call('a', 1)
  app.say(said(result(1)))
  await sleeping()
  const params = { requestId: 1, reason: 'Request timed out' }
  const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
  await app.stage.exchange(post(note, '', '/message?sessionId=a'))
  await app.stage.ends({ 'tools/call echo: timeout by injected': 1 })
  await client.sees('"result"')
  expect(app.faults.active).toBe(0)
})

test('a call that is never answered is let go with its time', async () => {
  app = await PushApp.open([hold('response')], { inFlightTtl: 40 })
  const client = await app.listen('a')
  await app.call('a', 1)
  await app.stage.ends({ 'tools/call echo: incomplete': 1 })
  app.say(said(result(1)))
  await client.sees('"result"')
  await hears(client, said(result(1)))
  expect(app.faults.counts()).toMatchObject({ injected: 0, not_reached: 1 })
})

test('a status cannot be given where the head is sent', async () => {
  app = await PushApp.open([abort({ status: 503 }, 'response')])
  const client = await app.listen('a')
  await app.call('a', 1)
  app.say(said(failure(1)))
  await app.stage.ends({ 'tools/call echo: rpc_error': 1 })
  await client.sees('"error"')
  await hears(client, said(failure(1)))
  expect(app.faults.notApplicable.map(({ reason }) => reason)).toEqual(['headers_sent'])
  expect(app.faults.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

test('without a stream that can be read, nothing can be done', async () => {
  const rules = [abort({ toolError: 'db lost' }, 'response')]
  app = await PushApp.open(rules, {}, 'Content-Encoding: gzip\r\n')
  const client = await app.stage.send(
    'GET /sse?a HTTP/1.1\r\nHost: pod\r\nAccept: text/event-stream\r\n\r\n',
    'GET',
  )
  await client.head()
  const coded = gzipSync('event: endpoint\ndata: /message?sessionId=a\n\n', { finishFlush: 2 })
  app.streams[0]!.socket.write(chunk(coded))
  // Nothing shows from outside when the endpoint has been read.
  let id = 0
  await expect
    .poll(async () => {
      await app.call('a', id++)
      return app.faults.notApplicable.map(({ reason }) => reason)
    }, POLL)
    .toEqual(['unreadable'])
  client.close()
  await expect
    .poll(() => app.stage.calls(), POLL)
    .toMatchObject({ 'tools/call echo: abandoned': 1 })
})

test('a session that a fault has lost loses its stream, and what is posted to it', async () => {
  const lost = oneFault('session: { expire: true }', 'match: { tool: lose }')
  app = await PushApp.open([lost])
  const client = await app.listen('a')
  const other = await app.listen('b')
  await app.call('a', 1)
  const reported = await app.call('a', 2, 'lose')
  expect(reported.responses[0]!.status).toBe(404)
  expect(await client.gone).toBe('fin')
  expect(client.text.endsWith('0\r\n\r\n')).toBe(false)
  const late = await app.call('a', 3)
  expect(late.responses[0]!.status).toBe(404)
  expect(app.stage.app.requests).toHaveLength(3)
  await app.call('b', 1)
  app.say(said(result(1)), 1)
  await app.stage.ends({
    'tools/call echo: ok': 1,
    'tools/call echo: incomplete by injected': 1,
    'tools/call echo: http_error by injected': 1,
    'tools/call lose: http_error by injected': 1,
  })
  await other.sees('"result"')
  await hears(other, said(result(1)))
})
