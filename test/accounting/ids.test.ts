import { afterEach, expect, test } from 'vitest'
import { type AppExchange, chunk } from '../support/wire.ts'
import { Held } from './held.ts'
import { event, get, post, posted, request, result, Stage, streamHead } from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

const IDS = [
  0,
  -1,
  1,
  '1',
  '',
  '0',
  1.5,
  9007199254740991,
  'server-discover-probe-1',
  'listen:0',
  'ünïcode 日本 🦑',
  '"quoted\\"',
  'line\nbreak',
]

test('ids of every kind find their own response, and only that', async () => {
  let push: AppExchange | undefined
  stage = await Stage.open((exchange) => {
    if (exchange.request.method === 'GET') {
      push = exchange
      void exchange.write(streamHead())
      return
    }
    // The stream is opened, and left with an event id, so any connection may carry the response.
    void exchange.send([streamHead(), chunk('id: 1\ndata: {}\n\n'), '0\r\n\r\n'])
  })
  const session = 'Mcp-Session-Id: s\r\n'
  const calls = IDS.map((id, i) => request(id, 'tools/call', { name: `t${i}` }))
  for (const call of calls) await stage.exchange(post(call, session))
  expect(await stage.calls()).toEqual({})
  const client = await stage.send(get('/mcp', session), 'GET')
  await client.head()
  const expected: Record<string, number> = {}
  for (const [i, id] of [...IDS.entries()].toReversed()) {
    push!.socket.write(event(result(id, i % 2 === 0 ? {} : { isError: true })))
    expected[`tools/call t${i}: ${i % 2 === 0 ? 'ok' : 'tool_error'}`] = 1
    await stage.ends(expected)
  }
})

test.each(IDS.map((id) => [id]))('the id %j is found in JSON and in a stream', async (id) => {
  stage = await Stage.open((exchange) => {
    const own = result(posted(exchange).id)
    const pieces = exchange.request.target === '/json'
    const body = JSON.stringify(own)
    void exchange.send(
      pieces
        ? [
            `HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
            Buffer.from(body),
          ]
        : [streamHead().replace('text/event', 'Text/Event'), event(own), '0\r\n\r\n'],
    )
  })
  await stage.exchange(post(request(id), '', '/json'))
  await stage.exchange(post(request(id), '', '/stream'))
  await stage.ends({ 'tools/call echo: ok': 2 })
})

test('the same ids in many sessions and connections at once do not meet', async () => {
  const held = new Held()
  stage = await Stage.open((exchange) => held.push(exchange))
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) {
    await stage.send(post(request(1, 'tools/call', { name }), `Mcp-Session-Id: ${name}\r\n`))
    await stage.send(post(request(1, 'tools/call', { name: `${name} without` })))
  }
  await stage.app.received(names.length * 2)
  const expected: Record<string, number> = {}
  for (let i = names.length * 2 - 1; i >= 0; i--) {
    const exchange = await held.at(i)
    const { name } = posted(exchange).params as { name: string }
    const failed = name.length > 1
    await exchange.send([streamHead(), event(result(1, { isError: failed })), '0\r\n\r\n'])
    expected[`tools/call ${name}: ${failed ? 'tool_error' : 'ok'}`] = 1
    await stage.ends(expected)
  }
})

test('an id used again while its first call is open ends both once', async () => {
  const held = new Held()
  stage = await Stage.open((exchange) => held.push(exchange))
  const session = 'Mcp-Session-Id: s\r\n'
  await stage.send(post(request(1, 'tools/call', { name: 'first' }), session))
  await stage.app.received(1)
  await stage.send(post(request(1, 'tools/call', { name: 'second' }), session))
  await stage.app.received(2)
  expect(await stage.gauges()).toMatchObject({ pending: 2 })
  await (await held.at(0)).send([streamHead(), event(result(1)), '0\r\n\r\n'])
  await stage.ends({ 'tools/call first: ok': 1 })
  await (await held.at(1)).send([streamHead(), '0\r\n\r\n'])
  await stage.ends({ 'tools/call first: ok': 1, 'tools/call second: incomplete': 1 })
  expect(await stage.byReason('table_evictions')).toEqual({})
})
