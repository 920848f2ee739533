import type { RequestListener } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { POLL } from '../accounting/stage.ts'
import { call, callMessage, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { resultText, whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'
import { heard, hears, PushApp } from './push-app.ts'

const opened = closers()
let pushed: PushApp | undefined
afterEach(async () => {
  await pushed?.stage.close()
  pushed = undefined
})

const progress =
  '{"jsonrpc":"2.0", "method":"notifications/progress","params":{"progressToken":7,"progress":1}}'
const one = resultText(1, 'a text')
const two = resultText(2, 'other')
const data = (text: string, fields = ''): string => `${fields}data: ${text}\n\n`
const CHARS = 'truncate: { content: { chars: 1 } }'
const SHORT = one.replace('a text', 'a')

/** An upstream that responds to each POST with this stream. */
const streaming =
  (text: string): RequestListener =>
  (req, res) => {
    whenAsked(req, () => {
      res.setHeader('content-type', 'text/event-stream')
      res.end(text)
    })
  }

async function stageOf(fault: string, text: string, keys?: string) {
  return opened(await startSidecar({ rules: [oneFault(fault, keys)], upstream: streaming(text) }))
}

/** The stream without the markers of faults. */
const plain = (text: string): string => text.replaceAll(/: x-squall-fault .*\n\n/g, '')
/** Its events; those of other calls overtake one that goes through faults. */
const events = (text: string): readonly string[] => plain(text).split('\n\n').toSorted()
const BOTH = [callMessage(1), callMessage(2, 'other')]

it.each([
  [CHARS, data(progress) + data(SHORT)],
  ['delay: { fixed: 5ms, at: response }', data(progress) + data(one)],
  ['stream: { drop: 1 }', data(one)],
  ['stream: { duplicate: last }', data(progress) + data(one).repeat(2)],
  ['stream: { reorder: 1 }', data(one) + data(progress)],
])('%s acts on a response in one event with its progress', async (fault, text) => {
  const stage = await stageOf(fault, data(`[ ${progress} , ${one} ]`))
  expect(plain((await call(stage, callMessage(1))).text)).toBe(text)
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 1 })
})

it('answers a call by an error in place of its response in a batch', async () => {
  const fault = 'abort: { rpcError: { code: -1, message: no }, at: response }'
  const stage = await stageOf(fault, data(`[${progress},${one}]`, 'id: a\nretry: 9\n'))
  const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}'
  const got = plain((await call(stage, callMessage(1))).text)
  expect(got).toBe(`${data(progress)}id: a\nevent: message\n${data(error)}`)
  await stage.settled(1)
  expect(await stage.counted()).toEqual({ 'echo injected': 1 })
})

it.each([
  ['in order', `[${one},${two}]`, data(SHORT) + data(`[${two}]`)],
  ['behind', `[${two},${progress},${one}]`, data(`[${two},${progress}]`) + data(SHORT)],
  [
    'between',
    `[${progress},${one},${two}]`,
    data(`[${progress}]`) + data(SHORT) + data(`[${two}]`),
  ],
])('takes the response of one call of a batch out of an event, %s', async (_, text, got) => {
  const stage = await stageOf(CHARS, data(text))
  expect(events((await call(stage, BOTH)).text)).toEqual(events(got))
  await stage.settled(2)
  expect(await stage.counted()).toEqual({ 'echo real': 1, 'other real': 1 })
})

it('keeps the fields of an event at its last message', async () => {
  const text = data(`[${one},\ndata: ${two}]`, ': c\nid: a\nretry: 9\nevent: message\n')
  const stage = await stageOf(CHARS, text)
  const last = data(`[${two}]`, ': c\nid: a\nretry: 9\nevent: message\n')
  expect(events((await call(stage, BOTH)).text)).toEqual(events(data(SHORT) + last))
})

it('keeps an event with no matched call byte for byte', async () => {
  const text = data(`[ ${one} ,\ndata: ${two}]`, ': c\n')
  const keys = 'match: { tool: none }'
  const server = 'match: { direction: server, method: notifications/message }'
  for (const each of [keys, server]) {
    const stage = await stageOf('delay: { fixed: 1ms }', text, each)
    expect((await call(stage, BOTH)).text).toBe(text)
    await stage.settled(2)
    expect(await stage.counted()).toEqual({ 'echo real': 1, 'other real': 1 })
  }
})

it('a rule about HTTP acts on each response of an event', async () => {
  const keys = 'match: { http: { path: /mcp } }'
  const stage = await stageOf('stream: { drop: 2 }', data(`[${one},${two}]`), keys)
  expect(plain((await call(stage, BOTH)).text)).toBe(data(one))
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 1 })
})

it('an event of more messages than are read passes, and its calls end', async () => {
  const many = Array.from({ length: 120 }, () => progress).join(',')
  const text = data(`[${many},${one}]`)
  const stage = await stageOf(CHARS, text)
  expect((await call(stage, callMessage(1))).text).toBe(text)
  await stage.settled(1)
  expect(await stage.counted()).toEqual({ 'echo real': 1 })
  expect(stage.notApplicable.map(({ reason }) => reason)).toEqual(['too_complex'])
})

it.each([
  ['hang: { at: event, for: 1ms }', `[${progress},${one}]`],
  ['truncate: { after: { percent: 10 } }', `[${progress},${one}]`],
  ['reset: { at: stream }', `[${progress},${one}]`],
])('%s finds the response in a batch', async (fault, text) => {
  const stage = await stageOf(fault, data(text))
  await call(stage, callMessage(1)).catch(() => undefined)
  await eventually(() => (stage.counts().injected === 1 ? undefined : 'not injected'))
})

it('acts on a call that is answered in a batch on the stream of its session', async () => {
  pushed = await PushApp.open([oneFault(CHARS)])
  const client = await pushed.listen('a')
  await pushed.call('a', 1)
  await pushed.call('a', 2, 'other')
  pushed.say(data(`[${progress},${one},${two}]`))
  await client.sees('other')
  const all = data(`[${progress}]`) + data(SHORT) + data(`[${two}]`)
  await expect.poll(() => events(heard(client)), POLL).toEqual(events(all))
  await pushed.stage.ends({ 'tools/call echo: ok': 1, 'tools/call other: ok': 1 })
  expect(pushed.faults.counts()).toMatchObject({ injected: 1 })
})

it('rules about the server and about a call act on one batch', async () => {
  const server = oneFault(
    'rewrite: { in: message, set: { /params/progress: 5 } }',
    'match: { direction: server, method: notifications/progress }',
  )
  pushed = await PushApp.open([oneFault(CHARS), { ...server, name: 'server' }])
  const client = await pushed.listen('a')
  await pushed.call('a', 1)
  await pushed.call('a', 2, 'other')
  pushed.say(data(`[${progress},${one},${two}]`, 'id: 1\n'))
  const changed = data(progress.replace('"progress":1', '"progress":5'))
  await client.sees('other')
  const all = changed + data(SHORT) + data(`[${two}]`, 'id: 1\n')
  await expect.poll(() => events(heard(client)), POLL).toEqual(events(all))
  await pushed.stage.ends({ 'tools/call echo: ok': 1, 'tools/call other: ok': 1 })
})

it('an event of several messages passes a stream without rules untouched', async () => {
  pushed = await PushApp.open([])
  const client = await pushed.listen('a')
  await pushed.call('a', 1)
  pushed.say(data(`[${progress},${one}]`))
  await hears(client, data(`[${progress},${one}]`))
  await pushed.stage.ends({ 'tools/call echo: ok': 1 })
})
