import { afterEach, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { chunk } from '../support/wire.ts'
import { LAST_CHUNK, POLL, post, request, result } from '../accounting/stage.ts'
import { ECHO, oneFault } from './one-fault.ts'
import { heard, hears, PushApp, said } from './push-app.ts'

let app: PushApp
afterEach(async () => {
  expect(app.faults.broken).toEqual([])
  await app.stage.close()
  expect(app.faults.active).toBe(0)
})

const hold: RuleSpec = oneFault('delay: { fixed: 10m, max: 10m, at: response }', ECHO, 'slow')
const LATE = ': x-squall-fault slow/delay\n\n'
const reasons = (): readonly string[] => app.faults.notApplicable.map(({ reason }) => reason)
const giveUp = (session: string, requestId: unknown): string =>
  post(
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
    '',
    `/message?sessionId=${session}`,
  )

test('a fault that would reset the connection leaves the stream of a session alone', async () => {
  app = await PushApp.open([oneFault('reset: { at: response }')])
  const client = await app.listen('a')
  await app.call('a', 1)
  app.say(said(result(1)))
  await app.stage.ends({ 'tools/call echo: ok': 1 })
  await client.sees('"result"')
  await hears(client, said(result(1)))
  expect(reasons()).toEqual(['shared_stream'])
  expect(app.faults.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

test('a fault that takes answers as HTTP has none to take', async () => {
  app = await PushApp.open([oneFault('hang: { at: headers }')])
  await app.listen('a')
  await app.call('a', 1)
  app.say(said(result(1)))
  await app.stage.ends({ 'tools/call echo: ok': 1 })
  expect(reasons()).toEqual(['responded_elsewhere'])
})

test('a response that a fault swallows leaves the call open until it is given up', async () => {
  app = await PushApp.open([oneFault('stream: { drop: last }')])
  const client = await app.listen('a')
  await app.call('a', 1)
  await app.call('a', 2, 'other')
  app.say(said(result(1)) + said(result(2)))
  await app.stage.ends({ 'tools/call other: ok': 1 })
  await client.sees('"id":2')
  await hears(client, said(result(2)))
  expect(await app.stage.gauges()).toMatchObject({ pending: 1, push: 1 })
  await app.stage.exchange(giveUp('a', 1))
  await app.stage.ends({
    'tools/call other: ok': 1,
    'tools/call echo: abandoned by injected': 1,
  })
})

test('a response that a fault sends twice comes twice', async () => {
  app = await PushApp.open([oneFault('stream: { duplicate: last }')])
  const client = await app.listen('a')
  await app.call('a', 1)
  app.say(said(result(1)))
  const marker = ': x-squall-fault bad/stream\n\n'
  await hears(client, said(result(1)) + marker + said(result(1)))
  await app.stage.ends({ 'tools/call echo: ok': 1 })
})

test('where many share an endpoint, nobody is sent what may be for another', async () => {
  app = await PushApp.open([oneFault('abort: { toolError: "no" }')])
  const first = await app.listen('both')
  await app.listen('both')
  await app.call('both', 1)
  expect(reasons()).toEqual(['no_push_stream'])
  app.say(said(result(1)))
  await first.sees('"result"')
  await app.stage.ends({ 'tools/call echo: ok': 1 })
})

test('a response that sleeps on a shared endpoint is not lost for the others by one who leaves', async () => {
  app = await PushApp.open([hold])
  const first = await app.listen('both')
  const second = await app.listen('both')
  await app.call('both', 1)
  app.say(said(result(1)))
  await expect.poll(() => app.faults.injected.length, POLL).toBe(1)
  first.close()
  await expect.poll(() => app.stage.gauges(), POLL).toMatchObject({ push: 1, pending: 1 })
  expect(app.faults.active).toBe(0)
  app.say(said(result(1)), 1)
  await expect.poll(() => app.faults.injected.length, POLL).toBe(2)
  app.faults.take([])
  await second.sees('"result"')
  await hears(second, LATE + said(result(1)))
  await app.stage.ends({ 'tools/call echo: ok': 1 })
})

test('faults hold of one call no more than memory is to pay for', async () => {
  app = await PushApp.open([oneFault('delay: { fixed: 10m, max: 10m, at: event }')], {
    maxBody: 20_000,
  })
  const client = await app.listen('a')
  await app.call('a', 1, 'echo', { _meta: { progressToken: 1 } })
  const params = { progressToken: 1, progress: 1, message: 'x'.repeat(9000) }
  const step = said({ jsonrpc: '2.0', method: 'notifications/progress', params })
  app.say(step)
  await expect.poll(() => app.faults.injected.length, POLL).toBe(1)
  for (let count = 1; count < 5; count++) app.say(step)
  app.say(said(result(1)))
  const marker = ': x-squall-fault bad/delay\n\n'
  await expect
    .poll(() => heard(client).replaceAll(step, 'STEP '), POLL)
    .toBe(`${marker}${'STEP '.repeat(5)}${said(result(1))}`)
  await app.stage.ends({ 'tools/call echo: ok': 1 })
})

test('an event too large to be read passes while it comes, and ours waits for its end', async () => {
  const abort = oneFault('abort: { toolError: "no" }', 'match: { tool: bad }')
  app = await PushApp.open([hold, abort], { maxBody: 1000 })
  const client = await app.listen('a')
  await app.call('a', 1)
  const large = said(result('big', { text: 'x'.repeat(3000) }))
  app.say(large.slice(0, 2000))
  await hears(client, large.slice(0, 2000))
  await app.call('a', 2, 'bad')
  app.say(large.slice(2000) + said(result(1)))
  await client.sees('isError')
  expect(heard(client).startsWith(`${large}: x-squall-fault bad/abort\n\n`)).toBe(true)
  await app.stage.ends({ 'tools/call bad: tool_error by injected': 1 })
  app.faults.take([])
  await app.stage.ends({
    'tools/call bad: tool_error by injected': 1,
    'tools/call echo: ok': 1,
  })
})

test('a client that does not read is not sent more and more', async () => {
  app = await PushApp.open([oneFault(`abort: { toolError: ${'x'.repeat(60_000)} }`)])
  const client = await app.listen('a')
  client.socket.pause()
  const filler = chunk(`: ${'y'.repeat(60_000)}\n\n`)
  // Until the upstream is made to wait, which says that the client's buffers are full.
  for (;;) if (!app.streams[0]!.socket.write(filler)) break
  await expect
    .poll(() => {
      const { socket } = app.streams[0]!
      while (socket.writableLength < 1_000_000) socket.write(filler)
      return socket.writableLength
    }, POLL)
    .toBeGreaterThan(900_000)
  let id = 0
  await expect
    .poll(async () => {
      await app.call('a', id++)
      return reasons().length
    }, POLL)
    .toBeGreaterThan(1)
  expect(new Set(reasons())).toEqual(new Set(['no_push_stream']))
  const sent = app.faults.injected.length
  await app.call('a', id++)
  expect(app.faults.injected.length).toBe(sent)
  client.close()
  await expect.poll(() => app.stage.gauges(), POLL).toMatchObject({ pending: 0, push: 0 })
})

test('the same id again belongs to the newer call', async () => {
  app = await PushApp.open([hold])
  const client = await app.listen('a')
  await app.call('a', 1)
  await app.call('a', 1)
  await app.stage.ends({ 'tools/call echo: incomplete': 1 })
  app.say(said(result(1)))
  await expect.poll(() => app.faults.injected.length, POLL).toBe(1)
  app.say(said(request(1, 'roots/list', {})))
  await client.sees('roots')
  app.faults.take([])
  await client.sees('"result"')
  await app.stage.ends({ 'tools/call echo: incomplete': 1, 'tools/call echo: ok': 1 })
})

test('an event that the upstream broke off is the end of the stream', async () => {
  app = await PushApp.open([hold], { maxBody: 1000 })
  const client = await app.listen('a')
  await app.call('a', 1)
  await app.call('a', 2)
  app.say(said(result(1)))
  await expect.poll(() => app.faults.injected.length, POLL).toBe(1)
  app.say('data: half')
  app.streams[0]!.socket.write(LAST_CHUNK)
  await app.stage.ends({ 'tools/call echo: ok': 1, 'tools/call echo: incomplete': 1 })
  await client.response()
  await hears(client, `${LATE}${said(result(1))}data: half`)
})

test('while the sidecar drains, what sleeps is sent', async () => {
  app = await PushApp.open([hold], { drainTimeout: 5_000 })
  const client = await app.listen('a')
  await app.call('a', 1)
  app.say(said(result(1)))
  await expect.poll(() => app.faults.injected.length, POLL).toBe(1)
  const drained = app.stage.squall.sidecar.drain()
  await client.sees('"result"')
  await hears(client, LATE + said(result(1)))
  await app.stage.ends({ 'tools/call echo: ok': 1 })
  client.close()
  await drained
})
