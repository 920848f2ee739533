import { afterEach, expect, test } from 'vitest'
import type { AppExchange } from '../support/wire.ts'
import {
  event,
  failure,
  get,
  LAST_CHUNK,
  modern,
  POLL,
  post,
  request,
  result,
  Stage,
  streamHead,
} from './stage.ts'

let stage: Stage
let pushes: AppExchange[]
afterEach(() => stage.close())

const SESSION = 'Mcp-Session-Id: s1\r\n'
const PRIMER = Buffer.from('9\r\nid: e0\n\n\n\r\n')
const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } }

/** An upstream that opens a stream for each POST, and leaves the rest to the test. */
async function open(
  begin: (exchange: AppExchange) => void,
  options: { inFlightTtl?: number } = {},
): Promise<void> {
  pushes = []
  stage = await Stage.open((exchange) => {
    if (exchange.request.method === 'POST') {
      begin(exchange)
      return
    }
    pushes.push(exchange)
    void exchange.write(streamHead())
  }, options)
}

const primeAndEnd = (exchange: AppExchange): void =>
  void exchange.send([streamHead(), PRIMER, event(note, 'e1'), LAST_CHUNK])
const primeAndReset = async (exchange: AppExchange): Promise<void> => {
  await exchange.send([streamHead(), PRIMER])
  await exchange.resetAfterReads()
}
const prime = (exchange: AppExchange): void => void exchange.send([streamHead(), PRIMER])

test.each([
  ['ended', primeAndEnd],
  ['was reset', primeAndReset],
])('a response is found on the resumed stream after the first one %s', async (_how, begin) => {
  await open(begin)
  await stage.exchange(post(request(1), SESSION))
  expect(await stage.calls()).toEqual({})
  expect(await stage.gauges()).toMatchObject({ pending: 1, request: 0 })
  const resumed = await stage.send(get('/mcp', `${SESSION}Last-Event-ID: e0\r\n`), 'GET')
  await resumed.head()
  pushes[0]!.socket.write(event(result(1, { isError: true }), 'e2'))
  await stage.ends({ 'tools/call echo: tool_error': 1 })
  expect(await stage.gauges()).toMatchObject({ pending: 0, push: 1 })
  expect(await stage.sum('squall_call_duration_seconds', '_count')).toBe(1)
})

test('a client that leaves such a stream has not given its call up', async () => {
  await open(prime)
  const client = await stage.send(post(request(1), SESSION))
  await client.sees('e0')
  client.close()
  await expect.poll(() => stage.gauges(), POLL).toMatchObject({ request: 0, pending: 1 })
  expect(await stage.calls()).toEqual({})
  const resumed = await stage.send(get('/mcp', `${SESSION}Last-Event-ID: e0\r\n`), 'GET')
  await resumed.head()
  pushes[0]!.socket.write(event(result(1), 'e2'))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test.each([
  ['without a session', post(request(1))],
  ['of protocol version 2026-07-28', post(modern(1), SESSION)],
])('a client that leaves a call %s has given it up, event ids or not', async (_what, bytes) => {
  await open(prime)
  const client = await stage.send(bytes)
  await client.sees('e0')
  client.close()
  await stage.ends({ 'tools/call echo: abandoned': 1 })
})

test('a client that leaves a stream without event ids has given its call up', async () => {
  await open((exchange) => void exchange.send([streamHead(), event(note)]))
  const client = await stage.send(post(request(1), SESSION))
  await client.sees('info')
  client.close()
  await stage.ends({ 'tools/call echo: abandoned': 1 })
})

test.each([
  ['ended', primeAndEnd, 'incomplete'],
  ['was reset', primeAndReset, 'reset'],
])(
  'when nobody resumes a stream that %s, the call ends with its time',
  async (_how, begin, outcome) => {
    await open(begin, { inFlightTtl: 40 })
    await stage.exchange(post(request(1), SESSION))
    stage.squall.sidecar.sweep()
    await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
    const late = await stage.send(get('/mcp', `${SESSION}Last-Event-ID: e0\r\n`), 'GET')
    await late.head()
    await pushes[0]!.write(event(result(1)))
    await late.sees('result')
  },
)

test('a call that is still being answered outlives its time in the table', async () => {
  await open(prime, { inFlightTtl: 20 })
  const client = await stage.send(post(request(1), SESSION))
  await client.sees('e0')
  const at = performance.now()
  await expect.poll(() => performance.now() - at, POLL).toBeGreaterThan(40)
  stage.squall.sidecar.sweep()
  expect(await stage.gauges()).toMatchObject({ pending: 1, request: 1 })
  stage.app.requests[0]!.connection.socket.write(event(result(1), 'e1'))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a call whose client waits on a resumed stream outlives its time, and ends with it', async () => {
  await open(primeAndEnd, { inFlightTtl: 100 })
  await stage.exchange(post(request(1), SESSION))
  await stage.exchange(post(request(2), SESSION))
  const resumed = await stage.send(get('/mcp', `${SESSION}Last-Event-ID: e0\r\n`), 'GET')
  await resumed.head()
  const at = performance.now()
  await expect.poll(() => performance.now() - at, POLL).toBeGreaterThan(150)
  stage.squall.sidecar.sweep()
  expect(await stage.calls()).toEqual({})
  pushes[0]!.socket.write(event(result(1), 'e2'))
  await stage.ends({ 'tools/call echo: ok': 1 })
  resumed.close()
  await stage.ends({ 'tools/call echo: ok': 1, 'tools/call echo: incomplete': 1 })
})

test('a call whose client waits on the older of two resumed streams outlives its time', async () => {
  await open(primeAndEnd, { inFlightTtl: 100 })
  await stage.exchange(post(request(1), SESSION))
  await stage.exchange(post(request(2), SESSION))
  const resumes = `${SESSION}Last-Event-ID: e0\r\n`
  const older = await stage.send(get('/mcp', resumes), 'GET')
  await older.head()
  const newer = await stage.send(get('/mcp', resumes), 'GET')
  await newer.head()
  await pushes[1]!.send([event(result(2), 'e2'), LAST_CHUNK])
  await newer.sees('e2')
  await stage.ends({ 'tools/call echo: ok': 1 })
  const at = performance.now()
  await expect.poll(() => performance.now() - at, POLL).toBeGreaterThan(150)
  stage.squall.sidecar.sweep()
  expect(await stage.calls()).toEqual({ 'tools/call echo: ok': 1 })
  pushes[0]!.socket.write(event(result(1), 'e2'))
  await stage.ends({ 'tools/call echo: ok': 2 })
})

test('another session that resumes closes nothing here', async () => {
  await open(primeAndEnd)
  await stage.exchange(post(request(1), SESSION))
  const other = await stage.send(get('/mcp', 'Mcp-Session-Id: s2\r\n'), 'GET')
  await other.head()
  pushes[0]!.socket.write(event(failure(1)))
  await other.sees('error')
  expect(await stage.calls()).toEqual({})
  const own = await stage.send(get('/mcp', SESSION), 'GET')
  await own.head()
  pushes[1]!.socket.write(event(result(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('requests of the server with the same id close nothing, nor do the responses to them', async () => {
  await open(prime)
  await stage.send(post(request(1), SESSION))
  const push = await stage.send(get('/mcp', SESSION), 'GET')
  await push.head()
  pushes[0]!.socket.write(event(request(1, 'elicitation/create', {})))
  await push.sees('elicitation')
  expect(await stage.gauges()).toMatchObject({ pending: 1 })
  const replied = await stage.send(post(result(1, { action: 'accept' }), SESSION))
  await replied.sees('e0')
  expect(await stage.calls()).toEqual({})
  stage.app.requests[0]!.connection.socket.write(event(result(1), 'e1'))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('a stream that is refused, or is none, counts as an exchange and opens nothing', async () => {
  pushes = []
  stage = await Stage.open((exchange) => {
    const ended = exchange.request.method === 'DELETE'
    void exchange.write(`HTTP/1.1 ${ended ? '200 OK' : '405 No'}\r\nContent-Length: 0\r\n\r\n`)
  })
  await (await stage.send(get('/mcp', SESSION), 'GET')).response()
  await (
    await stage.send(`DELETE /mcp HTTP/1.1\r\nHost: pod\r\n${SESSION}\r\n`, 'DELETE')
  ).response()
  await expect.poll(() => stage.http(), POLL).toEqual({ 'mcp 405': 1, 'mcp 200': 1 })
  expect(await stage.calls()).toEqual({})
})
