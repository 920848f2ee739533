import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import {
  call,
  callMessage,
  post,
  RawClient,
  startSidecar,
  textOf,
  toolCall,
  valueOf,
} from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { hears, PushApp, said } from './push-app.ts'
import { jsonApp, resultText, sseApp, streamText, whenAsked } from './apps.ts'
import { ECHO, oneFault } from './one-fault.ts'

const opened = closers()

type Reply = Record<string, unknown>

function abort(reply: Reply, at: 'request' | 'response' = 'request', keys = ECHO) {
  return oneFault(`abort: ${JSON.stringify({ ...reply, at })}`, keys)
}

const RPC = { rpcError: { code: -32001, message: 'gone', data: { a: 1 } } }
const RPC_TEXT = (id: number | string) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32001, message: 'gone', data: { a: 1 } },
})
const TOOL_TEXT = (id: number | string) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text: 'db lost' }], isError: true },
})
const MODERN = { 'mcp-protocol-version': '2026-07-28' }
const SSE_ONLY = { accept: 'text/event-stream' }

it.each([
  [0, RPC, RPC_TEXT(0)],
  ['0', { toolError: 'db lost' }, TOOL_TEXT('0')],
] as const)('answers call %j without asking the upstream', async (id, reply, expected) => {
  let calls = 0
  const stage = opened(
    await startSidecar({
      rules: [abort(reply)],
      upstream: (req, res) => (calls++, jsonApp(req, res)),
    }),
  )
  const got = await call(stage, callMessage(id))
  expect(got.status).toBe(200)
  expect(got.headers['content-type']).toBe('application/json')
  expect(got.headers['x-squall-fault']).toBe('bad/abort')
  expect(JSON.parse(got.text)).toEqual(expected)
  expect(calls).toBe(0)
  expect(stage.counts().injected).toBe(1)
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['injected'])
})

it('answers in a stream where the client takes nothing else, and says what the era wants', async () => {
  const stage = opened(
    await startSidecar({ rules: [abort({ toolError: 'db lost' })], upstream: jsonApp }),
  )
  const got = await call({ ...stage, headers: { ...SSE_ONLY, ...MODERN } }, callMessage(3))
  expect(got.headers['content-type']).toBe('text/event-stream')
  const data = /^event: message\ndata: (.*)\n\n$/.exec(got.text)?.[1]
  const expected = TOOL_TEXT(3)
  expect(JSON.parse(data!)).toEqual({
    ...expected,
    result: { resultType: 'complete', ...expected.result },
  })
})

it('answers by a status, with the headers of the rule and what a browser needs', async () => {
  const rule = abort({ status: 503, headers: { 'Retry-After': '2', vary: 'x' } })
  const stage = opened(await startSidecar({ rules: [rule], upstream: jsonApp }))
  const got = await call({ ...stage, headers: { origin: 'https://a.example' } }, callMessage(1))
  expect(got.status).toBe(503)
  expect(got.text).toBe('503 Service Unavailable\n')
  expect(got.headers).toMatchObject({
    'retry-after': '2',
    vary: 'x',
    'access-control-allow-origin': 'https://a.example',
    'x-squall-fault': 'bad/abort',
  })
  expect(got.headers['access-control-expose-headers']).toContain('x-squall-fault')
})

it('leaves a call alone whose id it could not repeat', async () => {
  const stage = opened(await startSidecar({ rules: [abort(RPC)], upstream: jsonApp }))
  const text =
    '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"echo"}}'
  const got = await call(stage, text)
  expect(got.headers['x-squall-fault']).toBeUndefined()
  expect(stage.notApplicable).toMatchObject([{ reason: 'inexact_id' }])
  expect(stage.counts()).toMatchObject({ not_applicable: 1, injected: 0 })
})

it.each([
  [RPC, RPC_TEXT(1)],
  [{ toolError: 'db lost' }, TOOL_TEXT(1)],
] as const)('replaces a JSON response after the upstream has executed', async (reply, expected) => {
  let calls = 0
  const stage = opened(
    await startSidecar({
      rules: [abort(reply, 'response')],
      upstream: (req, res) => {
        calls++
        res.setHeader('mcp-session-id', 's1')
        jsonApp(req, res)
      },
    }),
  )
  const got = await call(stage, callMessage(1))
  expect(JSON.parse(got.text)).toEqual(expected)
  expect(Number(got.headers['content-length'])).toBe(got.text.length)
  expect(got.headers['mcp-session-id']).toBe('s1')
  expect(got.headers['x-squall-fault']).toBe('bad/abort')
  expect(calls).toBe(1)
  expect(await stage.origins()).toEqual(['injected'])
})

it.each([jsonApp, sseFinal()])('replaces a response by a status', async (app) => {
  const stage = opened(
    await startSidecar({ rules: [abort({ status: 502 }, 'response')], upstream: app }),
  )
  const got = await call(stage, callMessage(1))
  expect(got.status).toBe(502)
  expect(got.text).toBe('502 Bad Gateway\n')
  expect(got.headers['x-squall-fault']).toBe('bad/abort')
  expect(stage.counts().injected).toBe(1)
})

it('replaces the last message of a stream, and keeps its id and all before it', async () => {
  const stage = opened(await startSidecar({ rules: [abort(RPC, 'response')], upstream: sseApp }))
  const got = await call(stage, callMessage(1))
  const [before] = streamText(1).split('id: 2')
  const event = `id: 2\nevent: message\ndata: ${JSON.stringify(RPC_TEXT(1))}\n\n`
  expect(got.text).toBe(`${before}: x-squall-fault bad/abort\n\n${event}`)
})

it('cannot give a status when the stream has begun to speak', async () => {
  const stage = opened(
    await startSidecar({ rules: [abort({ status: 502 }, 'response')], upstream: sseApp }),
  )
  const got = await call(stage, callMessage(1))
  expect(got.status).toBe(200)
  expect(got.text).toBe(streamText(1))
  expect(stage.notApplicable).toMatchObject([{ reason: 'headers_sent' }])
})

const STATUS = 'abort: { status: 502, at: response }'
const HTTP = 'match: { http: { path: /mcp } }'

it.each([
  [[oneFault(`${STATUS}\n      - stream: { reorder: all }`)]],
  [[oneFault(STATUS, HTTP), abort(RPC, 'response')]],
  [[oneFault(STATUS, HTTP), oneFault('reset: { at: response }')]],
])('replaces events by a status that a later fault still holds (%#)', async (rules) => {
  const stage = opened(await startSidecar({ rules, upstream: sseApp }))
  const client = await RawClient.connect(stage.port)
  for (const index of [0, 1]) {
    await client.send(toolCall(index), 'POST')
    const got = (await client.response(index))!
    expect([got.status, got.body.toString()]).toEqual([502, '502 Bad Gateway\n'])
  }
  expect(client.violations).toEqual([])
  expect(client.text).not.toContain('progress')
  client.close()
})

it.each(['standard', 'fast'] as const)(
  'holds the head for a status behind an event that a later fault delays (%s)',
  async (engine) => {
    const faults = [STATUS, 'stream: { reorder: all }', 'delay: { fixed: 200ms, at: event }']
    const upstream: RequestListener = (req, res) =>
      whenAsked(req, () => {
        // Without the events at the start of a stream, which a fault would delay, too.
        const [, event] = streamText(0).split(': keep\n\n')
        res.writeHead(200, { 'content-type': 'text/event-stream' }).end(event)
      })
    const rules = [oneFault(faults.join('\n      - '))]
    const stage = opened(await startSidecar({ rules, upstream, engine, holdTimeout: 50 }))
    const client = await RawClient.connect(stage.port)
    await client.send(toolCall(0), 'POST')
    expect((await client.response(0))!.status).toBe(502)
    expect(client.violations).toEqual([])
    client.close()
  },
)

it('lets a question of the upstream through before the response that it waits for', async () => {
  const stage = opened(
    await startSidecar({
      rules: [abort(RPC, 'response')],
      upstream: (req, res) => {
        whenAsked(req, () => {
          res.setHeader('content-type', 'text/event-stream')
          res.write('data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}\n\n')
        })
      },
    }),
  )
  const res = await post(stage, callMessage(1))
  for await (const part of res) {
    expect(String(part)).toContain('sampling/createMessage')
    break
  }
  res.destroy()
})

it('answers a call of HTTP+SSE by the stream of its session', async () => {
  const app = opened(await PushApp.open([abort(RPC)]))
  const client = await app.listen('s')
  const { responses } = await app.call('s', 4)
  expect(responses[0]!.status).toBe(202)
  expect(valueOf(responses[0]!.headers, 'x-squall-fault')).toBe('bad/abort')
  await hears(client, `: x-squall-fault bad/abort\n\n${said(RPC_TEXT(4))}`)
})

it('keeps the connection for the next call, which is untouched', async () => {
  const once = abort(RPC, 'request', `${ECHO}\n    first: 1`)
  const stage = opened(await startSidecar({ rules: [once], upstream: sseApp }))
  expect(JSON.parse((await call(stage, callMessage(1))).text)).toEqual(RPC_TEXT(1))
  const got = await call(stage, callMessage(2))
  expect(got.text).toBe(streamText(2))
  expect(got.headers['x-squall-fault']).toBeUndefined()
})

it('fails a whole exchange by a rule about HTTP', async () => {
  const fault = 'abort: { status: 500, body: "no" }'
  const rule = oneFault(fault, 'match: { http: { path: /mcp } }', 'all-of-it')
  const stage = opened(await startSidecar({ rules: [rule], upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect(got.status).toBe(500)
  expect(got.headers['x-squall-fault']).toBe('all-of-it/abort')
  expect(await textOf(await post(stage, callMessage(1)))).toBe('no')
})

/** A stream that says nothing but a comment before its response. */
function sseFinal(): typeof sseApp {
  return (req, res) => {
    req.resume()
    res.setHeader('content-type', 'text/event-stream')
    res.end(`id: 1\ndata: \n\n: hi\n\ndata: ${resultText(1)}\n\n`)
  }
}
