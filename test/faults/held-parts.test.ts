import { expect, test } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { LAST_CHUNK, result, streamHead } from '../accounting/stage.ts'
import { Held } from '../accounting/held.ts'
import { closersOf, type Open } from '../support/closers.ts'
import { type AppExchange, chunk, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'
import { hears, PushApp } from './push-app.ts'

const JSON_HEAD =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
const HALF = oneFault('truncate: { after: { percent: 50 } }')
const ERROR = oneFault('abort: { toolError: injected, at: response }')
const TEXT = JSON.stringify(result(1))
const EVENT = `data: ${TEXT}\n\n`

/** A call whose response the test gives, behind a sidecar that holds parts of it for a moment. */
async function called(opened: Open, rules: readonly RuleSpec[], holdTimeout = 200) {
  const app = new Held()
  const upstream = { script: (each: AppExchange) => app.push(each) }
  const squall = opened(await startSidecar({ upstream, rules, holdTimeout }))
  const client = opened(await RawClient.connect(squall.port))
  await client.send(toolCall(1), 'POST')
  return { client, exchange: await app.at(0), faults: squall.faults! }
}

// A fault that takes the response as HTTP waited without end for an upstream that fell silent, and
// so did every fault for the second half of an event: the client never saw what had come.
test.concurrent.for([
  ['a body that is cut by percent', HALF, JSON_HEAD, TEXT],
  ['an event that is cut by percent', HALF, streamHead(), EVENT],
  ['a body that is damaged', oneFault('corrupt: { mode: garbage }'), JSON_HEAD, TEXT],
  ['an event that is replaced', ERROR, streamHead(), EVENT],
  ['an event that is torn', oneFault('stream: { split: all }'), streamHead(), EVENT],
] as const)(
  'half of %s is not held beyond --hold-timeout',
  async ([, spec, head, whole], context) => {
    const opened = closersOf(context)
    const { client, exchange, faults } = await called(opened, [spec])
    await exchange.send([head, chunk(whole.slice(0, 30))])
    expect(await client.sees(whole.slice(0, 30))).toBe(true)
    expect(faults.notApplicable.map(({ reason }) => reason)).toEqual(['too_slow'])
    expect(faults.active).toBe(0)
    await exchange.send([chunk(whole.slice(30)), LAST_CHUNK])
    expect((await client.response())!.body.toString()).toBe(whole)
    expect([faults.injected, faults.broken]).toEqual([[], []])
  },
)

test.concurrent(
  'headers that no body follows are not held beyond --hold-timeout',
  async (context) => {
    const opened = closersOf(context)
    const { client, exchange, faults } = await called(opened, [HALF])
    await exchange.write(JSON_HEAD)
    expect((await client.head())!.status).toBe(200)
    expect(faults.notApplicable.map(({ reason }) => reason)).toEqual(['too_slow'])
  },
)

test.concurrent('half a body that trickles is not held beyond --hold-timeout', async (context) => {
  const opened = closersOf(context)
  const { client, exchange, faults } = await called(opened, [HALF])
  await exchange.write(JSON_HEAD)
  const trickle = setInterval(() => void exchange.write(chunk(' ')), 20)
  expect((await client.head())!.status).toBe(200)
  clearInterval(trickle)
  expect(faults.injected).toEqual([])
})

test.concurrent('what another fault slows down is held for longer', async (context) => {
  const opened = closersOf(context)
  const slow = oneFault('throttle: { rate: 200B, chunk: 10B, direction: response }')
  const rule = { ...slow, faults: [...slow.faults, ...HALF.faults] } as RuleSpec
  const { client, exchange, faults } = await called(opened, [rule], 100)
  await exchange.send([JSON_HEAD, chunk(TEXT), LAST_CHUNK])
  const given = await client.response()
  expect(given!.body.length).toBe(Math.floor(TEXT.length / 2))
  expect(faults.notApplicable).toEqual([])
})

test.concurrent('an event that comes in halves at a fair pace is replaced', async (context) => {
  const opened = closersOf(context)
  const { client, exchange } = await called(opened, [ERROR], 60_000)
  await exchange.send([streamHead(), chunk(EVENT.slice(0, 30))])
  await new Promise((resolve) => setImmediate(resolve))
  await exchange.send([chunk(EVENT.slice(30)), LAST_CHUNK])
  expect((await client.response())!.body.toString()).toContain('injected')
})

test('half an event on the stream of a session is not held beyond --hold-timeout', async (context) => {
  const opened = closersOf(context)
  const app = opened(await PushApp.open([ERROR], { holdTimeout: 200 }))
  const listener = await app.listen('a')
  await app.call('a', 1)
  app.say(EVENT.slice(0, 30))
  await hears(listener, EVENT.slice(0, 30))
  app.say(EVENT.slice(30))
  await hears(listener, EVENT)
  expect(app.faults.injected).toEqual([])
})
