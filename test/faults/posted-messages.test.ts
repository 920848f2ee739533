import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, callMessage, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { jsonApp, resultText } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const CANCELLED = 'match: { method: notifications/cancelled }'
const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
const text = JSON.stringify(note)

/** An upstream that notes the bodies that it gets. */
function noting(bodies: string[]): RequestListener {
  return (req, res) => {
    req.on('data', (part: Buffer) => bodies.push(part.toString()))
    jsonApp(req, res)
  }
}

async function stageOf(fault: string, keys = CANCELLED) {
  const bodies: string[] = []
  const upstream = noting(bodies)
  const stage = opened(await startSidecar({ rules: [oneFault(fault, keys)], upstream }))
  return { stage, bodies }
}

it.each([
  ['stream: { drop: all }', 202, []],
  ['abort: { status: 503 }', 503, []],
  ['unauthorized: {}', 401, []],
  ['delay: { fixed: 20ms }', 202, [text]],
  ['delay: { fixed: 20ms, at: response }', 202, [text]],
  ['stream: { duplicate: all }', 202, [text, text]],
  ['amplify: { copies: 2 }', 202, [text, text, text]],
  ['rewrite: { in: message, set: { /params/requestId: 10 } }', 202, [text.replace('9', '10')]],
])('%s acts on a notification of the client', async (fault, status, texts) => {
  const { stage, bodies } = await stageOf(fault)
  const got = await call(stage, note)
  expect(got.status).toBe(status)
  await eventually(() => (bodies.length === texts.length ? undefined : `${bodies.length} bodies`))
  expect(bodies).toEqual(texts)
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 1, not_applicable: 0 })
})

it.each([
  ['abort: { rpcError: { code: 1, message: x } }'],
  ['abort: { toolError: x }'],
  ['throttle: { rate: 1KiB }'],
])('%s has nothing to act on at a notification', async (fault) => {
  const { stage, bodies } = await stageOf(fault)
  expect((await call(stage, note)).status).toBe(202)
  expect(bodies).toEqual([text])
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 0, not_applicable: 1 })
})

it.each(['tools/call', '"*"', '"notifications/progress*"'])(
  'a rule about %s leaves a notification alone',
  async (method) => {
    const { stage, bodies } = await stageOf('stream: { drop: all }', `match: { method: ${method} }`)
    expect((await call(stage, note)).status).toBe(202)
    expect(bodies).toEqual([text])
    expect(stage.counts()).toMatchObject({ matched: 0 })
  },
)

it('a rule about all notifications matches one of any name', async () => {
  const { stage, bodies } = await stageOf(
    'stream: { drop: all }',
    'match: { method: "notifications/*" }',
  )
  expect((await call(stage, note)).status).toBe(202)
  expect(bodies).toEqual([])
  expect(stage.counts()).toMatchObject({ injected: 1 })
})

it('drops a notification of a batch and sends the rest, byte for byte', async () => {
  const { stage, bodies } = await stageOf('stream: { drop: all }')
  const first = JSON.stringify(callMessage(1, 'echo'))
  const got = await call(stage, `[${first} , ${text}]`)
  expect(got.text).toContain(resultText(1))
  expect(bodies).toEqual([`[${first}]`])
  expect(stage.counts()).toMatchObject({ matched: 1, injected: 1 })
})

it('does not answer a notification by a status in a batch with a call', async () => {
  const { stage, bodies } = await stageOf('abort: { status: 503 }')
  const body = `[${JSON.stringify(callMessage(1, 'echo'))},${text}]`
  expect((await call(stage, body)).status).toBe(200)
  expect(bodies).toEqual([body])
  expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

it('counts the injected status of a notification by its origin', async () => {
  const { stage } = await stageOf('abort: { status: 503 }')
  await call(stage, note)
  const sample = 'squall_http_requests_total{class="mcp",code="503",origin="injected"}'
  expect(await stage.metrics()).toContain(sample)
})
