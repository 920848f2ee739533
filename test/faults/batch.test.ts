import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, callMessage, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText } from './apps.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()

const onBad = (fault: string): RuleSpec => oneFault(fault, 'match: { tool: bad }', 'on-bad')

const TOOL_ERROR = 'abort: { toolError: x }'
const failed = (id: number) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text: 'x' }], isError: true },
})
const batch = [callMessage(1, 'good'), callMessage(2, 'bad'), callMessage(3, 'good')]
const headers = { 'x-batch': '1' }

/** Remembers the bodies that the upstream was sent. */
function recorded(app: RequestListener, bodies: string[]): RequestListener {
  return (req, res) => {
    req.on('data', (part: Buffer) => bodies.push(part.toString()))
    app(req, res)
  }
}

it('answers one call of a batch and sends the others on, byte for byte', async () => {
  const bodies: string[] = []
  const stage = opened(
    await startSidecar({
      rules: [onBad(TOOL_ERROR)],
      upstream: recorded(jsonApp, bodies),
    }),
  )
  const note = '{"method":"notifications/x", "jsonrpc":"2.0"}'
  const texts = batch.map((each) => JSON.stringify(each))
  const text = ` [ ${texts[0]} , ${texts[1]},\n${texts[2]},${note}]`
  const got = await call({ ...stage, headers }, text)
  expect(bodies.join('')).toBe(`[${texts[0]},${texts[2]},${note}]`)
  expect(got.text).toBe(`[${JSON.stringify(failed(2))},${resultText(1)},${resultText(3)}]`)
  expect(got.headers['x-squall-fault']).toBe('on-bad/abort')
  await stage.settled(3)
  expect(await stage.counted()).toEqual({ 'good real': 2, 'bad injected': 1 })
})

it('puts the response in front of a stream where the upstream streams the rest', async () => {
  const stage = opened(await startSidecar({ rules: [onBad(TOOL_ERROR)], upstream: sseApp }))
  const got = await call(stage, batch)
  const event = `event: message\ndata: ${JSON.stringify(failed(2))}\n\n`
  expect(got.text).toBe(event + streamText(1) + streamText(3))
})

it('answers a batch of which nothing is left without the upstream', async () => {
  const bodies: string[] = []
  const stage = opened(
    await startSidecar({
      rules: [onBad(TOOL_ERROR)],
      upstream: recorded(jsonApp, bodies),
    }),
  )
  const got = await call(stage, [callMessage(1, 'bad'), callMessage(2, 'bad')])
  expect(JSON.parse(got.text)).toEqual([failed(1), failed(2)])
  expect(bodies).toEqual([])
})

it('gives an array for the call of a batch beside which only notifications are left', async () => {
  const stage = opened(await startSidecar({ rules: [onBad(TOOL_ERROR)], upstream: jsonApp }))
  const got = await call(stage, [
    callMessage(1, 'bad'),
    { jsonrpc: '2.0', method: 'notifications/x' },
  ])
  expect(got.status).toBe(200)
  expect(JSON.parse(got.text)).toEqual([failed(1)])
})

it('does not give the whole batch a status that was meant for one call', async () => {
  const stage = opened(
    await startSidecar({
      rules: [onBad('abort: { status: 503 }')],
      upstream: jsonApp,
    }),
  )
  const got = await call({ ...stage, headers }, batch)
  expect(got.text).toBe(`[${[1, 2, 3].map((id) => resultText(id)).join(' , ')}]`)
  expect(stage.notApplicable).toMatchObject([{ rule: 'on-bad', reason: 'shared_exchange' }])
})

it('replaces the response of one call of a batch and leaves the bytes of the others', async () => {
  const stage = opened(
    await startSidecar({
      rules: [onBad('abort: { toolError: x, at: response }')],
      upstream: jsonApp,
    }),
  )
  const got = await call({ ...stage, headers }, batch)
  expect(got.text).toBe(`[${resultText(1)},${JSON.stringify(failed(2))},${resultText(3)}]`)
})

it('lets the events of other calls overtake those of a delayed one', async () => {
  const stage = opened(
    await startSidecar({
      rules: [onBad('delay: { fixed: 50ms, at: response }')],
      upstream: sseApp,
    }),
  )
  const got = await call(stage, batch)
  expect(got.text).toContain(streamText(1))
  expect(got.text.indexOf(resultText(3))).toBeLessThan(got.text.indexOf(resultText(2)))
  expect(got.text.indexOf(resultText(2))).toBeGreaterThan(0)
})

it('a rule about HTTP acts on a request that carries a call of a tool', async () => {
  const keys = 'match: { http: { path: "*" }, tool: bad }'
  for (const at of ['request', 'response']) {
    const stage = opened(
      await startSidecar({
        rules: [oneFault(`abort: { status: 503, at: ${at} }`, keys)],
        upstream: jsonApp,
      }),
    )
    expect((await call(stage, batch)).status).toBe(503)
    expect((await call(stage, callMessage(4, 'bad'))).status).toBe(503)
    expect((await call(stage, callMessage(5, 'good'))).status).toBe(200)
    expect(stage.counts()).toMatchObject({ matched: 2, injected: 2 })
  }
})

it('a rule about HTTP and the status acts on a response to a call of a tool', async () => {
  const keys = 'match: { http: { status: 200 }, tool: bad }'
  const rules = [oneFault('abort: { status: 503, at: response }', keys)]
  const stage = opened(await startSidecar({ rules, upstream: jsonApp }))
  expect((await call(stage, callMessage(1, 'bad'))).status).toBe(503)
  expect((await call(stage, callMessage(2, 'good'))).status).toBe(200)
})
