import { afterEach, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { RuleEnds } from '../../src/sidecar/rule-ends.ts'
import { type AppExchange, chunk, type RawClient, type RuleStage } from '../support/wire.ts'
import {
  event,
  get,
  LAST_CHUNK,
  modern,
  POLL,
  post,
  request,
  result,
  Stage,
  streamHead,
} from '../accounting/stage.ts'
import { ECHO, oneFault } from './one-fault.ts'
import { chunksOf, said } from './push-app.ts'

let stage: Stage
let pushes: AppExchange[]
let faults: RuleStage
afterEach(async () => {
  expect(faults.broken).toEqual([])
  await stage.close()
  expect(faults.active).toBe(0)
})

const SESSION = 'Mcp-Session-Id: s1\r\n'
const RESUME = `${SESSION}Last-Event-ID: e0\r\n`
const PRIMER = Buffer.from('9\r\nid: e0\n\n\n\r\n')
const LATE = ': x-squall-fault slow/delay\n\n'
const note = (level: string) => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level },
})
const hold: RuleSpec = oneFault('delay: { fixed: 10m, max: 10m, at: response }', ECHO, 'slow')

/** An upstream that opens a stream for each POST, and leaves the rest to the test. */
async function open(
  rules: readonly RuleSpec[],
  begin: (exchange: AppExchange) => void,
  options: { inFlightTtl?: number; clock?: () => number } = {},
): Promise<void> {
  pushes = []
  stage = await Stage.open(
    (exchange) => {
      if (exchange.request.method === 'POST') {
        begin(exchange)
        return
      }
      pushes.push(exchange)
      void exchange.write(streamHead())
    },
    { ...options, rules },
  )
  faults = stage.squall.faults!
}

const prime = (exchange: AppExchange): void => void exchange.send([streamHead(), PRIMER])
const primeAndEnd = (exchange: AppExchange): void =>
  void exchange.send([streamHead(), PRIMER, LAST_CHUNK])

async function resume(): Promise<RawClient> {
  const client = await stage.send(get('/mcp', RESUME), 'GET')
  await client.head()
  return client
}

const heard = (client: RawClient): string => chunksOf(client).join('')
const asleep = (count = 1): Promise<void> =>
  expect.poll(() => faults.injected.length, POLL).toBe(count)

test('a response on a resumed stream meets the faults of its call', async () => {
  await open([oneFault('abort: { toolError: "no", at: response }')], primeAndEnd)
  await stage.exchange(post(request(1), SESSION))
  expect(await stage.gauges()).toMatchObject({ pending: 1, request: 0 })
  const client = await resume()
  await pushes[0]!.write(event(result(1), 'e2'))
  await client.sees('isError')
  const response = result(1, { content: [{ type: 'text', text: 'no' }], isError: true })
  expect(heard(client)).toBe(`: x-squall-fault bad/abort\n\n${said(response, 'id: e2\n')}`)
  await stage.ends({ 'tools/call echo: tool_error by injected': 1 })
  expect(faults.counts()).toMatchObject({ matched: 1, injected: 1 })
})

test('a client that leaves while its response sleeps gets it late when it comes back', async () => {
  await open([hold], prime)
  const first = await stage.send(post(request(1), SESSION))
  await first.sees('e0')
  stage.app.requests[0]!.connection.socket.write(event(result(1), 'e1'))
  await asleep()
  first.close()
  await expect.poll(() => stage.gauges(), POLL).toMatchObject({ request: 0, pending: 1 })
  expect(faults.active).toBe(0)
  const second = await resume()
  await pushes[0]!.send([event(result(1), 'e1'), LAST_CHUNK])
  await asleep(2)
  expect(heard(second)).toBe('')
  faults.take([])
  await second.response()
  expect(heard(second)).toBe(LATE + said(result(1), 'id: e1\n'))
  await stage.ends({ 'tools/call echo: ok': 1 })
  expect(faults.injected.map(({ first: isFirst }) => isFirst)).toEqual([true, false])
})

test('a call whose rule has ended does not wait when it is resumed', async () => {
  let now = 0
  await open([{ ...hold, for: 1_000 }], prime, { clock: () => now })
  const ends = new RuleEnds(faults.rules, () => undefined)
  const first = await stage.send(post(request(1), SESSION))
  await first.sees('e0')
  now = 1_000
  ends.follow()
  first.close()
  await expect.poll(() => stage.gauges(), POLL).toMatchObject({ request: 0, pending: 1 })
  const second = await resume()
  await pushes[0]!.send([event(result(1), 'e1'), LAST_CHUNK])
  await second.response()
  expect(heard(second)).toBe(said(result(1), 'id: e1\n'))
  await stage.ends({ 'tools/call echo: ok': 1 })
  ends.close()
})

test('nor is the response lost by a second break', async () => {
  await open([hold], primeAndEnd)
  await stage.exchange(post(request(1), SESSION))
  const first = await resume()
  await pushes[0]!.write(event(result(1), 'e1'))
  await asleep()
  first.close()
  await expect.poll(() => stage.gauges(), POLL).toMatchObject({ push: 0, pending: 1 })
  const second = await resume()
  await pushes[1]!.write(event(result(1), 'e1'))
  await asleep(2)
  faults.take([])
  await second.sees('"result"')
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('events with ids keep their order, and others need not wait', async () => {
  await open([hold], primeAndEnd)
  await stage.exchange(post(request(1), SESSION))
  const client = await resume()
  const before = said(note('before'), 'id: e1\n')
  const response = said(result(1), 'id: e2\n')
  const behind = said(note('behind'), 'id: e3\n')
  const quick = `: keep\n\n${said(note('quick'))}`
  await pushes[0]!.write(chunk(before + response + behind + quick))
  await client.sees('quick')
  expect(heard(client)).toBe(before + quick)
  await asleep()
  faults.take([])
  await client.sees('behind')
  expect(heard(client)).toBe(before + quick + LATE + response + behind)
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('an event with an id that is too long to read keeps its place as well', async () => {
  await open([hold], primeAndEnd)
  await stage.exchange(post(request(1), SESSION))
  const client = await resume()
  const response = said(result(1), 'id: e2\n')
  const long = `id: e3\n${'data: line\n'.repeat(10_001)}\n`
  const quick = `: keep\n\n${said(note('quick'))}`
  await pushes[0]!.write(chunk(response + long + quick))
  await client.sees('quick')
  expect(heard(client)).toBe(quick)
  await asleep()
  faults.take([])
  await client.sees('id: e3')
  await expect.poll(() => heard(client), POLL).toBe(quick + LATE + response + long)
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a call that nobody comes back for ends with its time, and its faults with it', async () => {
  await open([hold], primeAndEnd, { inFlightTtl: 40 })
  await stage.exchange(post(request(1), SESSION))
  await stage.ends({ 'tools/call echo: incomplete': 1 })
  expect(faults.counts()).toMatchObject({ injected: 0, not_reached: 1 })
  const late = await resume()
  await pushes[0]!.write(event(result(1), 'e1'))
  await late.sees('"result"')
})

test('one that a fault held until the client was gone was ended by that', async () => {
  await open([hold], prime, { inFlightTtl: 200 })
  const first = await stage.send(post(request(1), SESSION))
  await first.sees('e0')
  stage.app.requests[0]!.connection.socket.write(event(result(1), 'e1'))
  await asleep()
  first.close()
  await stage.ends({ 'tools/call echo: abandoned by injected': 1 })
})

test.each([
  ['without a session', post(request(1))],
  ['of protocol version 2026-07-28', post(modern(1), SESSION)],
])('the faults of a call %s end with its exchange', async (_what, bytes) => {
  await open([hold], prime)
  const client = await stage.send(bytes)
  await client.sees('e0')
  client.close()
  await stage.ends({ 'tools/call echo: abandoned': 1 })
  expect(faults.counts()).toMatchObject({ injected: 0, not_reached: 1 })
})

test('a call that was answered at once leaves nothing behind', async () => {
  await open([oneFault('delay: { fixed: 1ms, at: response }', ECHO, 'slow')], (exchange) => {
    void exchange.send([streamHead(), PRIMER, event(result(1), 'e1'), LAST_CHUNK])
  })
  await stage.exchange(post(request(1), SESSION))
  await stage.ends({ 'tools/call echo: ok': 1 })
  const client = await resume()
  await pushes[0]!.write(event(result(1), 'e1'))
  await client.sees('"result"')
  expect(heard(client)).toBe(said(result(1), 'id: e1\n'))
  expect(faults.counts()).toMatchObject({ injected: 1 })
})

test('other sessions and the server’s own requests are let alone', async () => {
  await open([hold], primeAndEnd)
  await stage.exchange(post(request(1), SESSION))
  const other = await stage.send(get('/mcp', 'Mcp-Session-Id: s2\r\n'), 'GET')
  await other.head()
  await pushes[0]!.write(event(result(1), 'e1'))
  await other.sees('"result"')
  const own = await resume()
  await pushes[1]!.write(event(request(1, 'elicitation/create', {}), 'e1'))
  await own.sees('elicitation')
  await pushes[1]!.write(event(result(1), 'e2'))
  await asleep()
  faults.take([])
  await own.sees('"result"')
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a session that a fault has lost loses its push stream', async () => {
  await open([oneFault('session: { expire: true }', 'match: { tool: lose }')], prime)
  const push = await stage.send(get('/mcp', SESSION), 'GET')
  await push.head()
  const reported = await stage.exchange(post(request(1, 'tools/call', { name: 'lose' }), SESSION))
  expect(reported.responses[0]!.status).toBe(404)
  expect(await push.gone).toBe('fin')
  expect(push.text.endsWith('0\r\n\r\n')).toBe(false)
  const again = await stage.send(get('/mcp', SESSION), 'GET')
  expect((await again.response())!.status).toBe(404)
  await stage.ends({ 'tools/call lose: http_error by injected': 1 })
})

test('a stream that a fault cut is made good by the one that resumes it', async () => {
  const cut = oneFault('reset: { at: stream }')
  await open([cut], (exchange) => {
    void exchange.send([streamHead(), PRIMER, event(result(1), 'e1'), LAST_CHUNK])
  })
  const first = await stage.send(post(request(1), SESSION))
  expect(await first.gone).toBe('reset')
  expect(faults.counts()).toMatchObject({ injected: 1 })
  expect(await stage.gauges()).toMatchObject({ pending: 1 })
  const second = await resume()
  await pushes[0]!.write(event(result(1), 'e1'))
  await second.sees('"result"')
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a stream that a fault cut for good was cut by that', async () => {
  const cut = oneFault('reset: { at: stream }')
  await open(
    [cut],
    (exchange) => {
      void exchange.send([streamHead(), PRIMER, event(result(1), 'e1'), LAST_CHUNK])
    },
    { inFlightTtl: 40 },
  )
  const first = await stage.send(post(request(1), SESSION))
  expect(await first.gone).toBe('reset')
  await stage.ends({ 'tools/call echo: reset by injected': 1 })
})
