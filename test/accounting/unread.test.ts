import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { type AppExchange, chunk } from '../support/wire.ts'
import {
  event,
  failure,
  json,
  LAST_CHUNK,
  POLL,
  post,
  request,
  result,
  Stage,
  streamHead,
} from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

const CODINGS = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const
const big = (message: object): object => ({ ...message, padding: 'x'.repeat(5_000) })
const events = (...messages: object[]): string =>
  messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join('')

describe.each(CODINGS)('answers in %s', (coding, compress) => {
  test.each([
    ['tool_error', result(7, { isError: true })],
    ['rpc_error', failure(7)],
    ['incomplete', result(8)],
  ])('%s in JSON', async (outcome, message) => {
    const body = compress(JSON.stringify(message))
    stage = await Stage.open(
      (exchange) => void exchange.send([json(body, '200 OK', ['Content-Encoding', coding])]),
    )
    await stage.exchange(post(request(7)))
    await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
  })

  test.each([
    ['tool_error', result(7, { isError: true })],
    ['incomplete', result(8)],
  ])('%s in an event stream', async (outcome, message) => {
    const body = compress(events({ jsonrpc: '2.0', method: 'notifications/x' }, message))
    const pieces = Array.from(body, (_, i) => chunk(body.subarray(i, i + 1)))
    stage = await Stage.open(
      (exchange) =>
        void exchange.send([streamHead(`Content-Encoding: ${coding}\r\n`), ...pieces, LAST_CHUNK]),
    )
    await stage.exchange(post(request(7)))
    await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
    expect(await stage.gauges()).toMatchObject({ request: 0 })
  })
})

test('a response that had come in gzip before the reset is a response', async () => {
  stage = await Stage.open(async (exchange) => {
    await exchange.send([
      streamHead('Content-Encoding: gzip\r\n'),
      chunk(gzipSync(events(result(7)))),
    ])
    await exchange.resetAfterReads()
  })
  await stage.exchange(post(request(7)))
  await stage.ends({ 'tools/call echo: ok': 1 })
})

describe('what cannot be read is judged by its status alone', () => {
  const LIMIT = { maxBody: 4_000 }
  // As good as any bytes: nobody here can read them.
  const secret = (text: string): Buffer => Buffer.from(`secret ${text}`)

  test.each([
    ['ok', json(big(failure(7)))],
    ['ok', json(gzipSync(JSON.stringify(big(failure(7)))), '200 OK', ['Content-Encoding', 'gzip'])],
    ['ok', json(secret(JSON.stringify(failure(7))), '200 OK', ['Content-Encoding', 'x-secret'])],
    ['ok', json('damaged', '200 OK', ['Content-Encoding', 'gzip'])],
    ['incomplete', json(big({}), '202 Accepted')],
    ['http_error', json(big(failure(7)), '500 Oops')],
    ['http_error', json('damaged', '302 Found', ['Content-Encoding', 'gzip'])],
  ])('%s for JSON', async (outcome, bytes) => {
    stage = await Stage.open((exchange) => void exchange.send([bytes]), LIMIT)
    await stage.exchange(post(request(7)))
    await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
  })

  test('but a refusal of a handshake is still no error', async () => {
    stage = await Stage.open(
      (exchange) => void exchange.send([json(big({}), '404 Not Found')]),
      LIMIT,
    )
    await stage.exchange(post(request(7, 'initialize', {})))
    await stage.ends({ 'initialize: ok': 1 })
  })

  test.each([
    ['an event above the limit', '', [event(big(failure(7)))]],
    ['an unknown coding', 'Content-Encoding: x-secret\r\n', [chunk(secret(events(failure(7))))]],
    ['damage', 'Content-Encoding: gzip\r\n', [chunk('this is not gzip')]],
  ])('ok for an event stream with %s', async (_what, lines, chunks) => {
    stage = await Stage.open(
      (exchange) => void exchange.send([streamHead(lines), ...chunks, LAST_CHUNK]),
      LIMIT,
    )
    await stage.exchange(post(request(7), 'Mcp-Session-Id: s\r\n'))
    await stage.ends({ 'tools/call echo: ok': 1 })
  })

  test('a response beside an event above the limit is read', async () => {
    stage = await Stage.open(
      (exchange) =>
        void exchange.send([
          streamHead(),
          event(big({ jsonrpc: '2.0', method: 'notifications/x' })),
          event(failure(7)),
          LAST_CHUNK,
        ]),
      LIMIT,
    )
    await stage.exchange(post(request(7)))
    await stage.ends({ 'tools/call echo: rpc_error': 1 })
  })
})

describe('requests that pass unread', () => {
  const responded = (): Promise<Stage> =>
    Stage.open((exchange) => void exchange.send([json({})]), { maxBody: 2_000 })

  test.each([
    ['not_json', '{"jsonrpc"'],
    ['not_json_rpc', '{"grant_type":"password"}'],
    ['not_json_rpc', '[]'],
    ['too_large', JSON.stringify(big(request(1)))],
  ])('are counted with their reason: %s', async (reason, body) => {
    stage = await responded()
    await stage.exchange(post(body))
    await expect.poll(() => stage.byReason('unclassified')).toEqual({ [reason]: 1 })
    await expect.poll(() => stage.http(), POLL).toEqual({ 'http 200': 1 })
    expect(await stage.calls()).toEqual({})
  })

  test('are counted when they are coded in a way that is not known', async () => {
    stage = await responded()
    await stage.exchange(post('xx', 'Content-Encoding: x-secret\r\n'))
    await expect.poll(() => stage.byReason('unclassified')).toEqual({ encoding: 1 })
  })

  test.each([
    ['/register', '{"redirect_uris":["http://localhost/callback"]}'],
    ['/token?x=1', '{"grant_type":"refresh_token"}'],
    ['/oauth2/v1/token', 'not even JSON'],
    ['/tenant/.well-known/x', '[]'],
    ['/health', '{}'],
    ['/register', JSON.stringify(big({}))],
  ])('are plain HTTP at %s', async (target, body) => {
    stage = await responded()
    await stage.exchange(post(body, '', target))
    await expect.poll(() => stage.http(), POLL).toEqual({ 'http 200': 1 })
    expect(await stage.byReason('unclassified')).toEqual({})
  })

  test('calls are counted wherever they are posted, and in whatever coding they are', async () => {
    stage = await Stage.open((exchange) => void exchange.send([json(result(1))]))
    await stage.exchange(post(request(1), '', '/health/mcp'))
    const body = gzipSync(JSON.stringify(request(1))).toString('latin1')
    const lines = `Host: pod\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}`
    await stage.exchange(`POST /mcp HTTP/1.1\r\n${lines}\r\n\r\n${body}`)
    await stage.ends({ 'tools/call echo: ok': 2 })
  })
})

const long = JSON.stringify(result(7, { content: [{ type: 'text', text: 'x '.repeat(10_000) }] }))
const DAMAGED = [
  ['a stray quote', long.replace('x x x x', 'x x "x x')],
  ['a NUL', long.replace('x x x x', 'x x \0x x')],
  ['an escape that JSON does not have', long.replace('x x x x', 'x x \\q x')],
  ['a comma too many', `${long.slice(0, -1)},}`],
  ['a second document', `${long}{}`],
] as const

describe.each(DAMAGED)('a large response with %s is no result', (_, body) => {
  test.each([
    ['as JSON', (exchange: AppExchange) => exchange.send([json(body)])],
    [
      'as an event',
      (exchange: AppExchange) =>
        exchange.send([streamHead(), chunk(`data: ${body}\n\n`), LAST_CHUNK]),
    ],
  ])('%s', async (_form, respond) => {
    stage = await Stage.open((exchange) => void respond(exchange))
    await stage.exchange(post(request(7)))
    await stage.ends({ 'tools/call echo: incomplete': 1 })
  })
})

test('a large response that is whole is a result', async () => {
  stage = await Stage.open((exchange) => void exchange.send([json(long)]))
  await stage.exchange(post(request(7)))
  await stage.ends({ 'tools/call echo: ok': 1 })
})
