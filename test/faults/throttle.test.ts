import { expect, it } from 'vitest'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText } from './apps.ts'
import { ECHO, oneFault } from './one-fault.ts'

const opened = closers()

function throttle(config: object) {
  return oneFault(`throttle: ${JSON.stringify(config)}`, ECHO, 'slow')
}

it.each([
  ['a JSON response', jsonApp, resultText(1)],
  ['a stream', sseApp, streamText(1)],
])('sends every byte of %s at its rate', async (_, app, text) => {
  const rate = text.length * 8
  const stage = opened(
    await startSidecar({ rules: [throttle({ rate: `${rate}B`, chunk: '10B' })], upstream: app }),
  )
  const start = performance.now()
  const got = await call(stage, callMessage(1))
  const took = performance.now() - start
  expect(took).toBeGreaterThanOrEqual(120)
  expect(got.text).toBe(text)
  expect(got.headers['x-squall-fault']).toBe('slow/throttle')
  expect(stage.counts().injected).toBe(1)
  expect(stage.active()).toBe(0)
  expect(stage.injected).toHaveLength(1)
  expect(await stage.origins()).toEqual(['real'])
})

it('lets the upstream wait for a call by its size', async () => {
  const message = JSON.stringify(callMessage(1))
  const rate = message.length * 10
  const stage = opened(
    await startSidecar({
      rules: [throttle({ rate: `${rate}B`, direction: 'request' })],
      upstream: jsonApp,
    }),
  )
  const start = performance.now()
  expect((await call(stage, message)).text).toBe(resultText(1))
  expect(performance.now() - start).toBeGreaterThanOrEqual(98)
  expect(stage.injected[0]!.delayMs).toBeCloseTo(100)
})

it('is named once where it slows the call and the response', async () => {
  const rules = [throttle({ rate: '1MiB', direction: 'both' })]
  const stage = opened(await startSidecar({ rules, upstream: jsonApp }))
  const got = await call(stage, callMessage(1))
  expect(got.headers['x-squall-fault']).toBe('slow/throttle')
})

it('shows the first bytes at once when the rule is taken back, and all the others', async () => {
  const stage = opened(
    await startSidecar({ rules: [throttle({ rate: '20B', chunk: '1B' })], upstream: sseApp }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await client.sees('\r\n\r\n1\r\ni\r\n')
  expect(stage.active()).toBe(1)
  stage.disarm()
  expect((await client.response())!.body.toString()).toBe(streamText(1))
  client.close()
})

it('frees everything at once when the client leaves', async () => {
  const stage = opened(await startSidecar({ rules: [throttle({ rate: '1B' })], upstream: jsonApp }))
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  await client.head()
  client.reset()
  await stage.settled()
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['injected'])
})
