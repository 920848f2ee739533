import type { RequestListener } from 'node:http'
import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import type { Fault, FaultContext, Output } from '../../src/filters/fault.ts'
import { call, callMessage, RawClient, rpcPost, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText, whenAsked } from './apps.ts'
import { ECHO, oneFault } from './one-fault.ts'

const opened = closers()

const MARK = /: x-squall-fault [^\n]*\n\n/g

function hang(config: object = {}) {
  return oneFault(`hang: ${JSON.stringify(config)}`, ECHO, 'silent')
}

/** Says something while it waits, as `keepAlive` does in longer intervals. */
const alive: Fault = {
  onOutput: (ctx, output) => ({ head: output.head, body: signsOfLife(ctx, output.body) }),
}

async function* signsOfLife(ctx: FaultContext, body: Output['body']): AsyncGenerator<Uint8Array> {
  ctx.injected()
  const end = ctx.sleep(Infinity)
  yield Buffer.from(': alive\n\n')
  await end
  yield* body
}

/** Returns the part of a chunked body that has arrived. */
function bodyOf({ text }: RawClient): string {
  let rest = text.slice(text.indexOf('\r\n\r\n') + 4)
  let body = ''
  for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
    const size = Number.parseInt(rest.slice(0, end), 16)
    body += rest.slice(end + 2, end + 2 + size)
    rest = rest.slice(end + 4 + size)
  }
  return body
}

/** The start of a stream, before the event with the response. */
const BEFORE = streamText(1).split('id: 2')[0]!

it('holds a call until its client leaves, and the upstream never hears of it', async () => {
  let asked = 0
  const stage = opened(
    await startSidecar({ rules: [hang()], upstream: (req, res) => (asked++, jsonApp(req, res)) }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  expect(stage.active()).toBe(1)
  client.reset()
  await stage.settled()
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['injected'])
  expect(asked).toBe(0)
  expect(client.received).toBe(0)
})

it('releases a call when the rule is removed or its time has passed', async () => {
  const stage = opened(await startSidecar({ rules: [hang()], upstream: jsonApp }))
  const got = call(stage, callMessage(1))
  await stage.until(() => stage.injected.length === 1)
  stage.disarm()
  expect((await got).text).toBe(resultText(1))

  const timed = opened(await startSidecar({ rules: [hang({ for: '30ms' })], upstream: jsonApp }))
  const start = performance.now()
  expect((await call(timed, callMessage(1))).text).toBe(resultText(1))
  expect(performance.now() - start).toBeGreaterThanOrEqual(28)
  expect(await timed.origins()).toEqual(['real'])
})

it.each([
  ['a JSON response', jsonApp, resultText(1)],
  ['a stream', sseApp, streamText(1)],
])('at the headers sends the marked head of %s, and the rest later', async (_, app, text) => {
  const stage = opened(await startSidecar({ rules: [hang({ at: 'headers' })], upstream: app }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const head = await client.head()
  expect(head!.status).toBe(200)
  expect(client.text).toContain('x-squall-fault: silent/hang')
  await stage.until(() => stage.injected.length === 1)
  expect(client.text).toMatch(/\r\n\r\n$/)
  expect(stage.active()).toBe(1)
  stage.disarm()
  const response = await client.response()
  expect(response!.body.toString()).toBe(text)
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['real'])
  expect(stage.injected).toHaveLength(1)
  client.close()
})

it('at the event is silent before the response, and loses no byte of it', async () => {
  const stage = opened(await startSidecar({ rules: [hang({ at: 'event' })], upstream: sseApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  await client.sees('"progress":1}}\r\n\r\n')
  expect(bodyOf(client)).toBe(BEFORE)
  stage.disarm()
  expect((await client.response())!.body.toString().replace(MARK, '')).toBe(streamText(1))
  client.close()
})

it.each([
  [{ after: { events: 1 } }, 'id: 1\ndata: \n\n'],
  [{ after: { bytes: 5 } }, 'id: 1'],
])('is silent after %j', async (config, before) => {
  const stage = opened(
    await startSidecar({ rules: [hang({ at: 'event', ...config })], upstream: sseApp }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  await client.sees(before)
  expect(bodyOf(client)).toBe(before)
  void stage.drain()
  expect((await client.response())!.body.toString()).toBe(streamText(1))
  client.close()
})

it('frees everything at once when the client leaves', async () => {
  let appGone: Promise<unknown> | undefined
  const stage = opened(
    await startSidecar({
      rules: [hang({ at: 'event' })],
      upstream: (req, res) => {
        appGone = once(res, 'close')
        whenAsked(req, () => {
          res.setHeader('content-type', 'text/event-stream')
          res.write(streamText(1))
        })
      },
    }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  expect(stage.active()).toBe(1)
  client.reset()
  await stage.settled()
  await appGone
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['injected'])
  expect(stage.counts().injected).toBe(1)
})

it('does not keep an upstream waiting that continues its response', async () => {
  let finished: Promise<unknown> | undefined
  const text = `data: ${'x'.repeat(100_000)}\n\n`.repeat(8)
  const stage = opened(
    await startSidecar({
      rules: [hang({ at: 'headers' })],
      upstream: (req, res) => {
        finished = once(res, 'finish')
        whenAsked(req, () => {
          res.setHeader('content-type', 'text/event-stream')
          res.end(text)
        })
      },
    }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await client.head()
  await finished
  await call(stage, callMessage(2, 'other'))
  expect(bodyOf(client)).toBe('')
  expect(stage.active()).toBe(1)
  stage.disarm()
  expect((await client.response())!.body.toString()).toBe(text)
  expect(await stage.origins()).toEqual(['real'])
  client.close()
})

it('still acts while a stream that hangs shows signs of life', async () => {
  const stage = opened(await startSidecar({ rules: [hang()], faults: [alive], upstream: sseApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await client.sees(': alive\n\n')
  await call(stage, callMessage(2, 'other'))
  expect(stage.active()).toBe(1)
  stage.disarm()
  expect((await client.response())!.body.toString()).toBe(`: alive\n\n${streamText(1)}`)
  client.close()
})

it('has no event to wait before in a JSON response', async () => {
  const stage = opened(await startSidecar({ rules: [hang({ at: 'event' })], upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(resultText(1))
  expect(got.headers['x-squall-fault']).toBeUndefined()
  expect(stage.notApplicable).toMatchObject([{ reason: 'nothing_to_act_on' }])
})

it('cannot read a coded stream unless it is configured in bytes', async () => {
  const bytes = gzipSync(streamText(1))
  const app: RequestListener = (req, res) => {
    req.resume()
    res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
    res.end(bytes)
  }
  const stage = opened(await startSidecar({ rules: [hang({ at: 'event' })], upstream: app }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  expect((await client.response())!.body.equals(bytes)).toBe(true)
  expect(stage.counts().not_applicable).toBe(1)
  client.close()
})

it.each(['request', 'headers'])('at %s leaves the other calls of a batch alone', async (at) => {
  const stage = opened(await startSidecar({ rules: [hang({ at })], upstream: jsonApp }))
  const got = await call(stage, [callMessage(1), callMessage(2, 'other')])
  expect(JSON.parse(got.text)).toHaveLength(2)
  expect(stage.notApplicable).toMatchObject([{ reason: 'shared_exchange' }])
})

it('holds a call of a connection, and no other connection', async () => {
  const stage = opened(await startSidecar({ rules: [hang()], upstream: jsonApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await stage.until(() => stage.injected.length === 1)
  const other = await call(stage, callMessage(2, 'other'))
  expect(other.text).toBe(resultText(2))
  client.close()
  const ping = rpcPost('{"jsonrpc":"2.0","id":3,"method":"ping"}')
  const next = await RawClient.connect(stage.port)
  await next.send(ping, 'POST')
  expect((await next.response())!.body.toString()).toBe(resultText(3))
  next.close()
})
