import { afterEach, describe, expect, test } from 'vitest'
import { Held } from './held.ts'
import {
  event,
  json,
  LAST_CHUNK,
  modern,
  POLL,
  post,
  posted,
  request,
  result,
  Stage,
  streamHead,
} from './stage.ts'

let stage: Stage
let held: Held
afterEach(() => stage.close())

const SESSION = 'Mcp-Session-Id: s1\r\n'
const ACCEPTED = 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'

/** An upstream that takes notifications and holds calls. */
async function open(): Promise<void> {
  held = new Held()
  stage = await Stage.open((exchange) => {
    if (posted(exchange).id === undefined) void exchange.write(ACCEPTED)
    else held.push(exchange)
  })
}

const giveUp = (requestId: unknown, reason?: unknown, lines = SESSION): string =>
  post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } }, lines)

test.each([
  ['timeout', 'McpError: MCP error -32001: Request timed out'],
  ['timeout', 'Request Timeout'],
  ['timeout', 'the operation ran into a time out'],
  ['timeout', 'timed-out after 60 s'],
  ['cancelled', 'AbortError: This operation was aborted'],
  ['cancelled', 'the user closed the window in time'],
  ['timeout', 'timed out after 2.5s'],
  ['timeout', 'context deadline exceeded'],
  ['timeout', 'DEADLINE_EXCEEDED'],
  ['timeout', 'TimeoutError: The operation was aborted due to timeout'],
  ['cancelled', 'context canceled'],
  ['cancelled', 'caller cancelled'],
  ['abandoned', undefined],
  ['abandoned', ''],
  ['abandoned', { timeout: true }],
])('%s when a client gives its call up with %j', async (outcome, reason) => {
  await open()
  await stage.send(post(request(1), SESSION))
  await stage.app.received(1)
  await stage.exchange(giveUp(1, reason))
  await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
  expect(await stage.http()).toEqual({ 'mcp 202': 1 })
  // The call has ended already, whatever the upstream still sends.
  await (await held.at(0)).write(json(result(1)))
})

test.each([
  ['another id', giveUp(2)],
  ['the same id as text', giveUp('1')],
  ['no id', giveUp(undefined)],
  ['an id that is none', giveUp({ id: 1 })],
  ['another session', giveUp(1, 'timed out', 'Mcp-Session-Id: s2\r\n')],
  ['no session', giveUp(1, 'timed out', '')],
])('a notification with %s gives no call up', async (_what, bytes) => {
  await open()
  const client = await stage.send(post(request(1), SESSION))
  await stage.app.received(1)
  await stage.exchange(bytes)
  expect(await stage.calls()).toEqual({})
  await (await held.at(0)).write(json(result(1)))
  await client.response()
  await stage.ends({ 'tools/call echo: ok': 1 })
})

describe('a client that leaves', () => {
  const leave = {
    closes: 'close',
    resets: 'reset',
  } as const
  test.each([
    ['closes', post(modern(1))],
    ['resets', post(modern(1))],
    ['closes', post(request(1), SESSION)],
    ['resets', post(request(1), SESSION)],
  ] as const)('and %s before the response has abandoned its call', async (how, bytes) => {
    await open()
    const client = await stage.send(bytes)
    await stage.app.received(1)
    client[leave[how]]()
    await stage.ends({ 'tools/call echo: abandoned': 1 })
    expect(await (await held.at(0)).gone).toBeDefined()
  })

  test('inside a JSON response has abandoned its call', async () => {
    await open()
    const client = await stage.send(post(request(1), SESSION))
    await stage.app.received(1)
    await (await held.at(0)).write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"half"')
    await client.sees('half')
    client.close()
    await stage.ends({ 'tools/call echo: abandoned': 1 })
  })

  test('before its request was whole has made no call', async () => {
    await open()
    const client = await stage.send(post(request(1)).slice(0, -10))
    await expect.poll(() => stage.gauges(), POLL).toMatchObject({ client: 1 })
    client.close()
    // It may still read the rejection.
    await expect.poll(() => stage.http(), POLL).toEqual({ 'mcp 400 by squall': 1 })
    expect(await stage.calls()).toEqual({})
  })

  test('with several requests in the pipe has abandoned those that are not answered', async () => {
    await open()
    const client = await stage.send([post(request(1)), post(request(2)), post(request(3))])
    await stage.app.received(3)
    await (await held.at(0)).write(json(result(1)))
    await client.sees('result')
    client.close()
    await stage.ends({ 'tools/call echo: ok': 1, 'tools/call echo: abandoned': 2 })
  })
})

describe('a subscription', () => {
  const listen = post(modern('listen:0', 'subscriptions/listen', {}))
  const beginning = [
    streamHead(),
    event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: {} }),
  ]

  test('is counted when it ends, and its length is no duration', async () => {
    await open()
    const client = await stage.send(listen)
    await stage.app.received(1)
    await (await held.at(0)).send(beginning)
    await client.sees('acknowledged')
    expect(await stage.gauges()).toMatchObject({ request: 1, pending: 1 })
    expect(await stage.calls()).toEqual({})
    await (
      await held.at(0)
    ).send([event(result('listen:0', { resultType: 'complete' })), LAST_CHUNK])
    await client.response()
    await stage.ends({ 'subscriptions/listen: ok': 1 })
    expect(await stage.sum('squall_call_duration_seconds', '_count')).toBe(0)
    expect(await stage.sum('squall_upstream_duration_seconds', '_count')).toBe(0)
    expect(await stage.sum('squall_overhead_seconds', '_count')).toBe(1)
  })

  test('that the client closes is cancelled, as there is no other way to end it', async () => {
    await open()
    const client = await stage.send(listen)
    await stage.app.received(1)
    await (await held.at(0)).send(beginning)
    await client.sees('acknowledged')
    client.close()
    await stage.ends({ 'subscriptions/listen: cancelled': 1 })
    expect(await stage.sum('squall_call_duration_seconds', '_count')).toBe(0)
  })
})
