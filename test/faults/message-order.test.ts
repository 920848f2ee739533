import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { POLL } from '../accounting/stage.ts'
import { call, callMessage, post, startSidecar, textOf } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { resultText } from './apps.ts'
import { oneFault } from './one-fault.ts'
import { heard, PushApp, said } from './push-app.ts'

const opened = closers()
const PROGRESS = 'match: { direction: server, method: notifications/progress }'
const REORDER = 'stream: { reorder: all }'

const progress = (n: number, token: unknown = 1): object => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: token, progress: n },
})
const elicit = { jsonrpc: '2.0', id: 's', method: 'elicitation/create', params: { message: 'go?' } }
const event = (message: unknown, id = ''): string => `${id}data: ${JSON.stringify(message)}\n\n`
const result = `data: ${resultText(1)}\n\n`
const plain = (text: string): string => text.replaceAll(/: x-squall-fault .*\n\n/g, '')

/** An upstream whose streams say these events, and end unless they stay open. */
function saying(events: readonly string[], staysOpen = false): RequestListener {
  return (req, res) => {
    req.resume()
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of events) res.write(each)
    if (!staysOpen) res.end()
  }
}

async function stageOf(fault: string, keys: string, events: readonly string[]) {
  return opened(await startSidecar({ rules: [oneFault(fault, keys)], upstream: saying(events) }))
}

const [one, two, three] = [event(progress(1)), event(progress(2)), event(progress(3))]

it.each([
  ['in pairs', [one, two, three, result], two + one + result + three],
  ['behind a request', [one, event(elicit), result], event(elicit) + one + result],
  ['without its event id', [event(progress(1), 'id: a\n'), result], result + one],
  ['and not at the end', [one], one],
])('sends notifications behind the message that follows, %s', async (_, events, text) => {
  const stage = await stageOf(REORDER, PROGRESS, events)
  expect(plain((await call(stage, callMessage(1))).text)).toBe(text)
})

it('counts what was overtaken, what overtook it, and what had nothing behind it', async () => {
  const stage = await stageOf(REORDER, PROGRESS, [one, two, three])
  await call(stage, callMessage(1))
  await stage.settled(1)
  expect(stage.counts()).toMatchObject({ injected: 1, within_limit: 1, not_applicable: 1 })
})

it('does not hold a request, for whose response the upstream may wait', async () => {
  const keys = 'match: { direction: server, method: elicitation/create }'
  const stage = await stageOf(REORDER, keys, [event(elicit), one, result])
  expect((await call(stage, callMessage(1))).text).toBe(event(elicit) + one + result)
  expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

it('sends a notification that waits when its rule is taken back', async () => {
  const stage = opened(
    await startSidecar({ rules: [oneFault(REORDER, PROGRESS)], upstream: saying([one], true) }),
  )
  const res = await post(stage, callMessage(1))
  let text = ''
  res.on('data', (part) => (text += String(part)))
  await expect.poll(() => stage.counts().matched, POLL).toBe(1)
  stage.faults.take([])
  await expect.poll(() => text, POLL).toBe(one)
  res.destroy()
})

it('sends notifications of a session behind the message that follows', async () => {
  const app = await PushApp.open([oneFault(REORDER, PROGRESS)])
  const client = await app.listen('a')
  app.say(said(progress(1)) + said(progress(2)) + said(progress(3)))
  await expect.poll(() => plain(heard(client)), POLL).toBe(said(progress(2)) + said(progress(1)))
  app.say(said(elicit))
  const all = said(progress(2)) + said(progress(1)) + said(elicit) + said(progress(3))
  await expect.poll(() => plain(heard(client)), POLL).toBe(all)
  client.close()
  await app.close()
})

const STALL = 'hang: { at: event, after: { events: 2 } }'

it('stalls the progress of each call after its first messages', async () => {
  const stage = await stageOf(STALL, PROGRESS, [one, two, three, three, result])
  for (let n = 0; n < 3; n++) {
    expect(plain((await call(stage, callMessage(1))).text)).toBe(one + two + result)
  }
  await stage.settled(3)
  expect(stage.counts()).toMatchObject({ matched: 12, injected: 6, within_limit: 6 })
})

it('stalls the progress of each call of a session by its token', async () => {
  const app = await PushApp.open([oneFault(STALL, PROGRESS)])
  const client = await app.listen('a')
  await app.call('a', 1, 'echo', { _meta: { progressToken: 'x' } })
  await app.call('a', 2, 'other', { _meta: { progressToken: 'y' } })
  for (let n = 0; n < 4; n++) for (const token of ['x', 'y']) app.say(said(progress(n, token)))
  const passed = [0, 1].flatMap((n) => ['x', 'y'].map((token) => said(progress(n, token))))
  await expect.poll(() => app.faults.counts().matched, POLL).toBe(8)
  await expect.poll(() => plain(heard(client)), POLL).toBe(passed.join(''))
  client.close()
  await app.close()
})

it('stalls each request of the server after the first of its call', async () => {
  const keys = 'match: { direction: server, method: elicitation/create }'
  const asked = [1, 2, 3].map((id) => event({ ...elicit, id }))
  const stage = await stageOf('hang: { at: event, after: { events: 2 } }', keys, [...asked, result])
  const text = await textOf(await post(stage, callMessage(1)))
  expect(plain(text)).toBe(asked[0]! + asked[1]! + result)
})

it.each([
  ['hang: { at: event }', one + two + result],
  ['hang: { at: event, for: 1ms }', undefined],
])('%s acts on each message that the rule matches', async (fault, all) => {
  const stage = await stageOf(fault, PROGRESS, [one, two, result])
  const got = plain((await call(stage, callMessage(1))).text)
  expect(got.includes('"progress":1')).toBe(all === undefined)
  expect(stage.counts()).toMatchObject({ injected: 2 })
})

it('a tool narrows the progress of a session to its calls', async () => {
  const keys = 'match: { direction: server, method: "*", tool: echo }'
  const app = await PushApp.open([oneFault('stream: { drop: all }', keys)])
  const client = await app.listen('a')
  await app.call('a', 1, 'echo', { _meta: { progressToken: 'x' } })
  await app.call('a', 2, 'other', { _meta: { progressToken: 'y' } })
  app.say(said(progress(1, 'x')) + said(progress(1, 'y')) + said(progress(1, 'z')) + said(elicit))
  await client.sees('elicitation')
  const others = said(progress(1, 'y')) + said(progress(1, 'z')) + said(elicit)
  expect(plain(heard(client))).toBe(others)
  client.close()
  await app.close()
})
