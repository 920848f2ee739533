import { expect, it } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { call, callMessage, RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText } from './apps.ts'
import { ECHO, oneFault } from './one-fault.ts'

const opened = closers()

function reset(config: object) {
  return oneFault(`reset: ${JSON.stringify(config)}`, ECHO, 'cut')
}

/** Returns the response to one call, and the end of its connection. */
async function cut(rule: RuleSpec, app: typeof jsonApp) {
  let asked = 0
  const stage = opened(
    await startSidecar({ rules: [rule], upstream: (req, res) => (asked++, app(req, res)) }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const closeState = await client.gone
  await stage.settled()
  return { stage, client, closeState, asked }
}

/**
 * Cuts until the client sees the reset. libuv reports data and a reset that arrive together as data
 * and an end, so a single try on a busy machine may show the end.
 */
async function cutByReset(rule: RuleSpec, app: typeof jsonApp) {
  let got = await cut(rule, app)
  for (let tries = 1; tries < 10 && got.closeState !== 'reset'; tries++) got = await cut(rule, app)
  return got
}

it.each([
  ['rst', 'reset'],
  ['fin', 'fin'],
])('ends the connection by %s before the upstream hears of the call', async (how, closeState) => {
  const got = await cut(reset({ how }), jsonApp)
  expect([got.closeState, got.asked, got.client.text]).toEqual([closeState, 0, ''])
  const { stage } = got
  expect(stage.counts().injected).toBe(1)
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['injected'])
})

it('ends it after the upstream has executed the call, and sends nothing of the response', async () => {
  const got = await cut(reset({ at: 'response' }), jsonApp)
  expect([got.closeState, got.asked, got.client.text]).toEqual(['reset', 1, ''])
})

it.each([
  [{}, streamText(1).split('id: 2')[0]!],
  [{ after: { events: 1 } }, 'id: 1\ndata: \n\n'],
  [{ after: { bytes: 10 } }, 'id: 1\ndata'],
  [{ after: { bytes: 0 } }, ''],
])('ends it in the middle of a stream, after %j', async (config, before) => {
  for (const how of ['rst', 'fin']) {
    const rule = reset({ at: 'stream', how, ...config })
    const got = await (how === 'rst' ? cutByReset : cut)(rule, sseApp)
    expect(got.closeState).toBe(how === 'rst' ? 'reset' : 'fin')
    expect(got.client.responses[0]!.body.toString()).toBe(before)
    expect(got.client.text).not.toContain('\r\n0\r\n')
    const { stage } = got
    expect(stage.injected).toMatchObject([{ rule: 'cut', fault: 'reset' }])
    expect(stage.active()).toBe(0)
    expect(await stage.origins()).toEqual(['injected'])
  }
})

it('ends it in the middle of a JSON response, under its whole length', async () => {
  const got = await cutByReset(reset({ at: 'stream', after: { bytes: 20 } }), jsonApp)
  const [response] = got.client.responses
  expect(got.closeState).toBe('reset')
  expect(response!.body.toString()).toBe(resultText(1).slice(0, 20))
  expect(got.client.text).toMatch(new RegExp(`content-length: ${resultText(1).length}\r\n`, 'i'))
})

it.each([
  [{ at: 'request' }, jsonApp],
  [{ at: 'response' }, jsonApp],
  [{ at: 'stream' }, sseApp],
])('turns new connections away as well with %j', async (config, app) => {
  const { stage } = await cut(reset({ ...config, refuse: '1m' }), app)
  await expect(call(stage, callMessage(2, 'other'))).rejects.toThrow(/ECONNRESET|socket hang up/)
})

it.each(['request', 'response', 'stream'])(
  'at %s leaves the other calls of a batch alone, and new connections',
  async (at) => {
    const stage = opened(
      await startSidecar({ rules: [reset({ at, refuse: '1m' })], upstream: jsonApp }),
    )
    const got = await call(stage, [callMessage(1), callMessage(2, 'other')])
    expect(JSON.parse(got.text)).toHaveLength(2)
    expect(stage.notApplicable).toMatchObject([{ reason: 'shared_exchange' }])
    expect((await call(stage, callMessage(3, 'other'))).text).toBe(resultText(3))
  },
)

it('turns new connections away as long as any rule asks for it', async () => {
  const other = 'match: { tool: other }'
  const rules = [reset({ refuse: '1m' }), oneFault('reset: { refuse: 1ms }', other, 'short')]
  const stage = opened(await startSidecar({ rules, upstream: jsonApp }))
  const second = await RawClient.connect(stage.port)
  await expect(call(stage, callMessage(1))).rejects.toThrow(/ECONNRESET|socket hang up/)
  const begun = performance.now()
  await second.send(toolCall(2, 'other'), 'POST')
  await second.gone
  while (performance.now() - begun < 5) await new Promise(setImmediate)
  await expect(call(stage, callMessage(3))).rejects.toThrow(/ECONNRESET|socket hang up/)
  expect(stage.counts().matched).toBe(1)
})

it('leaves a response alone that has ended before', async () => {
  const stage = opened(
    await startSidecar({
      rules: [reset({ at: 'stream', after: { events: 9 } })],
      upstream: sseApp,
    }),
  )
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(streamText(1))
  expect(stage.notApplicable).toMatchObject([{ reason: 'nothing_to_act_on' }])
})
