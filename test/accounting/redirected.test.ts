import { afterEach, describe, expect, test } from 'vitest'
import { response, type Script } from '../support/wire.ts'
import { json, post, posted, request, result, Stage, stream } from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

const TO_MOUNT = response('307 Temporary Redirect', ['Location', '/mcp/'], '')

/** Redirects from `/mcp`, and responds at `/mcp/`. */
const mount: Script = (exchange) => {
  if (exchange.request.target === '/mcp') return void exchange.send([TO_MOUNT])
  return void exchange.send([json(result(posted(exchange).id))])
}

const follow = (message: unknown, lines = ''): string => post(message, lines, '/mcp/')

test('a call and its repetition are one call, on one connection and on two', async () => {
  stage = await Stage.open(mount)
  const client = await stage.send(post(request(1)))
  await client.response()
  expect(await stage.calls()).toEqual({})
  expect(await stage.sum('squall_in_flight_requests')).toBe(1)
  await client.send(follow(request(1)))
  await client.response()
  await stage.ends({ 'tools/call echo: ok': 1 })
  await stage.exchange(post(request(2)))
  await stage.exchange(follow(request(2)))
  await stage.ends({ 'tools/call echo: ok': 2 })
  expect(await stage.sum('squall_call_duration_seconds', '_count')).toBe(2)
  expect(await stage.http()).toEqual({})
})

test('several redirects in a row are one call', async () => {
  stage = await Stage.open((exchange) => {
    const { target } = exchange.request
    const to = { '/mcp': '/a', '/a': '/b?c=d' }[target]
    if (to === undefined) return void exchange.send(stream(result(1)))
    return void exchange.send([response('308 Permanent Redirect', ['Location', to], '')])
  })
  for (const target of ['/mcp', '/a', '/b?c=d']) {
    await stage.exchange(post(request(1), '', target))
  }
  await stage.ends({ 'tools/call echo: ok': 1 })
})

test('two redirected calls of equal bytes are two', async () => {
  stage = await Stage.open(mount)
  for (let i = 0; i < 2; i++) await stage.exchange(post(request(1)))
  for (let i = 0; i < 2; i++) await stage.exchange(follow(request(1)))
  await stage.ends({ 'tools/call echo: ok': 2 })
})

test('a redirect is followed once: the same call again is another call', async () => {
  stage = await Stage.open(mount)
  await stage.exchange(post(request(1)))
  for (let i = 0; i < 2; i++) await stage.exchange(follow(request(1)))
  await stage.ends({ 'tools/call echo: ok': 2 })
})

const other: readonly (readonly [string, string])[] = [
  ['another authorization', follow(request(1), 'Authorization: Bearer other\r\n')],
  ['another session', follow(request(1), 'Mcp-Session-Id: other\r\n')],
  ['another client', follow(request(1), 'User-Agent: other\r\n')],
  ['another client behind the same gateway', follow(request(1), 'X-Forwarded-For: 10.0.0.9\r\n')],
  ['another id', follow(request(2))],
  ['an id of another type', follow(request('1'))],
  ['other arguments', follow(request(1, 'tools/call', { name: 'echo', arguments: { a: 1 } }))],
  ['another query', post(request(1), '', '/mcp/?a=b')],
]

describe('a call is no repetition that has', () => {
  test.each(other)('%s', async (_, bytes) => {
    stage = await Stage.open(mount)
    await stage.exchange(post(request(1)))
    await stage.exchange(bytes)
    await stage.ends({ 'tools/call echo: ok': 1 })
    expect(await stage.sum('squall_in_flight_requests')).toBe(1)
    await stage.exchange(follow(request(1)))
    await stage.ends({ 'tools/call echo: ok': 2 })
  })
})

test('the response to the repetition decides, also when the upstream fails then', async () => {
  stage = await Stage.open((exchange) => {
    if (exchange.request.target === '/mcp') return void exchange.send([TO_MOUNT])
    return exchange.reset()
  })
  await stage.exchange(post(request(1)))
  await stage.exchange(follow(request(1)))
  await stage.ends({ 'tools/call echo: reset': 1 })
})

test('a client that leaves with the redirect may still follow it', async () => {
  stage = await Stage.open((exchange) => {
    if (exchange.request.target !== '/mcp') return void exchange.send([json(result(1))])
    const head = 'HTTP/1.1 307 Temporary Redirect\r\nLocation: /mcp/\r\nContent-Length: 9\r\n\r\n'
    return void exchange.send([head])
  })
  const client = await stage.send(post(request(1)))
  await client.head()
  client.close()
  await stage.exchange(follow(request(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

describe('a client that never follows', () => {
  const ends: readonly (readonly [string, readonly string[], string])[] = [
    ['has got no response', ['Location', '/mcp/'], 'http_error'],
    ['may have gone to another host', ['Location', 'http://elsewhere/mcp/'], 'ok'],
  ]
  test.each(ends)('%s', async (_, lines, outcome) => {
    stage = await Stage.open(
      (exchange) => void exchange.send([response('307 Temporary Redirect', lines, '')]),
    )
    await stage.exchange(post(request(1)))
    expect(await stage.calls()).toEqual({})
    await stage.squall.close()
    await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
  })

  test('has waited until the redirect, and not until the call is given up', async () => {
    stage = await Stage.open((exchange) => {
      if (exchange.request.target === '/mcp') return void exchange.send([TO_MOUNT])
      return void setTimeout(() => void exchange.send([json(result(posted(exchange).id))]), 100)
    })
    const began = performance.now()
    await stage.exchange(post(request(1)))
    await stage.exchange(follow(request(2)))
    const seconds = (performance.now() - began) / 1000
    await stage.squall.close()
    await stage.ends({ 'tools/call echo: http_error': 1, 'tools/call echo: ok': 1 })
    expect(await stage.sum('squall_call_duration_seconds', '_sum')).toBeLessThan(seconds)
  })

  test('cannot, without a location: the call ends at once', async () => {
    stage = await Stage.open(
      (exchange) => void exchange.send([response('307 Temporary Redirect', [], '')]),
    )
    await stage.exchange(post(request(1)))
    await stage.ends({ 'tools/call echo: http_error': 1 })
  })
})

test('what is kept for clients that never follow is bounded', async () => {
  stage = await Stage.open(mount)
  const filler = 'x'.repeat(3_000_000)
  for (let id = 0; id < 4; id++) {
    await stage.exchange(post(request(id, 'tools/call', { name: 'echo', arguments: { filler } })))
  }
  await stage.ends({ 'tools/call echo: http_error': 2 })
  expect(await stage.byReason('table_evictions')).toEqual({ redirects: 2 })
  await stage.squall.close()
})
