import { once } from 'node:events'
import { expect, it } from 'vitest'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { jsonApp, resultText, sseApp, streamText } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const TWO_AN_HOUR = 'rateLimit: { limit: { calls: 2, per: 1h } }'
const AS_RPC = 'rateLimit: { as: rpc, message: slow down }'

const tooMany = (id: number | string, code = -32029) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: 'slow down', data: { retryAfter: 1 } },
})

it('answers 429 without asking the upstream, to a client that takes JSON or streams', async () => {
  let calls = 0
  const stage = opened(
    await startSidecar({
      rules: [oneFault('rateLimit: { retryAfter: 90s }')],
      upstream: (req, res) => (calls++, jsonApp(req, res)),
    }),
  )
  for (const accept of ['application/json, text/event-stream', 'text/event-stream']) {
    const got = await call({ ...stage, headers: { accept } }, callMessage(1))
    expect(got.status).toBe(429)
    expect(got.headers).toMatchObject({
      'retry-after': '90',
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-squall-fault': 'bad/rateLimit',
    })
    expect(JSON.parse(got.text)).toEqual({
      error: 'too_many_requests',
      message: 'Too many requests',
    })
  }
  expect(calls).toBe(0)
  expect(stage.counts()).toMatchObject({ sampled: 2, injected: 2, within_limit: 0 })
})

it('is exact when all calls come at once, and spares those within the limit', async () => {
  let calls = 0
  const stage = opened(
    await startSidecar({
      rules: [oneFault(TWO_AN_HOUR)],
      upstream: (req, res) => (calls++, jsonApp(req, res)),
    }),
  )
  const all = await Promise.all(Array.from({ length: 20 }, (_, id) => call(stage, callMessage(id))))
  expect(all.filter(({ status }) => status === 200)).toHaveLength(2)
  const refused = all.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(18)
  for (const { headers } of refused) {
    expect(Number(headers['retry-after'])).toBeGreaterThan(1790)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(1800)
  }
  expect(calls).toBe(2)
  expect(stage.counts()).toMatchObject({ injected: 18, within_limit: 2, not_applicable: 0 })
  expect(stage.active()).toBe(0)
})

it('leaves what is within the limit byte for byte as it was', async () => {
  const stage = opened(await startSidecar({ rules: [oneFault(TWO_AN_HOUR)], upstream: sseApp }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(streamText(1))
  expect(got.headers['x-squall-fault']).toBeUndefined()
})

it.each([
  [{}, -32029],
  [{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }, 429],
])('answers in JSON-RPC as the protocol version of the call wants', async (headers, code) => {
  const stage = opened(await startSidecar({ rules: [oneFault(AS_RPC)], upstream: jsonApp }))
  const got = await call({ ...stage, headers }, callMessage('a'))
  expect(got.status).toBe(200)
  expect(JSON.parse(got.text)).toEqual(tooMany('a', code))
})

it('turns one call of a batch away in JSON-RPC, and none by a status', async () => {
  const messages = [callMessage(1, 'other'), callMessage(2)]
  const rpc = opened(await startSidecar({ rules: [oneFault(AS_RPC)], upstream: jsonApp }))
  const got = await call({ ...rpc, headers: { 'x-batch': '1' } }, messages)
  expect(got.text).toBe(`[${JSON.stringify(tooMany(2))},${resultText(1)}]`)
  const http = opened(await startSidecar({ rules: [oneFault('rateLimit')], upstream: jsonApp }))
  expect((await call(http, messages)).status).toBe(200)
  expect(http.notApplicable).toMatchObject([{ fault: 'rateLimit', reason: 'shared_exchange' }])
})

it('takes a token for a client that leaves, and holds nothing for it', async () => {
  let appGone: Promise<unknown> | undefined
  const stage = opened(
    await startSidecar({
      rules: [oneFault(TWO_AN_HOUR)],
      upstream: (req, res) => {
        req.resume()
        appGone = once(res, 'close')
      },
    }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await eventually(() => (appGone === undefined ? 'not asked' : undefined))
  client.reset()
  await stage.settled()
  await appGone
  expect(stage.counts()).toMatchObject({ within_limit: 1, injected: 0 })
  expect(stage.active()).toBe(0)
})
