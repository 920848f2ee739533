import { expect, it } from 'vitest'
import {
  call,
  callMessage,
  RawClient,
  type RuledSidecar,
  startSidecar,
  toolCall,
} from '../support/wire.ts'
import { bytesHeld } from '../support/bytes-held.ts'
import { closers } from '../support/closers.ts'
import { jsonApp, resultText, sseApp, streamText } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const MODERN = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
}
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
  },
}
const RESTART = 'match: { method: [tools/call, initialize] }'

const notFound = (id: number | null) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32001, message: 'Session not found' },
})

/** A call of the session that no rule matches finds it lost. */
async function loses(stage: RuledSidecar): Promise<void> {
  const { status, text } = await call(stage, callMessage(9, 'other'))
  expect([status, JSON.parse(text)]).toEqual([404, notFound(9)])
}

it.each([jsonApp, sseApp])('loses the session of the call', async (app) => {
  let calls = 0
  const stage = opened(
    await startSidecar({
      rules: [oneFault('session')],
      upstream: (req, res) => (calls++, app(req, res)),
      session: 's1',
    }),
  )
  const got = await call(stage, callMessage(0))
  expect(got.status).toBe(404)
  expect(got.headers['content-type']).toBe('application/json')
  expect(got.headers['x-squall-fault']).toBe('bad/session')
  expect(JSON.parse(got.text)).toEqual(notFound(0))
  expect(calls).toBe(0)
  await loses(stage)
  expect(stage.counts()).toMatchObject({ injected: 1, not_applicable: 0 })
})

it.each([
  ['without a session', undefined, {}],
  ['of a protocol version without sessions', 's1', MODERN],
])('leaves a call %s alone, and says so', async (_, session, headers) => {
  const stage = opened(
    await startSidecar({
      rules: [oneFault('session')],
      upstream: sseApp,
      ...(session === undefined ? {} : { session }),
    }),
  )
  const got = await call({ ...stage, headers: { ...stage.headers, ...headers } }, callMessage(1))
  expect(got.text).toBe(streamText(1))
  expect((await call({ ...stage, headers }, callMessage(2, 'other'))).status).toBe(200)
  expect(stage.notApplicable).toMatchObject([{ fault: 'session', reason: 'nothing_to_act_on' }])
})

it('turns the whole batch away, as all of it names the session', async () => {
  const stage = opened(
    await startSidecar({ rules: [oneFault('session')], upstream: jsonApp, session: 's1' }),
  )
  const got = await call(stage, [callMessage(1), callMessage(2, 'other')])
  expect(got.status).toBe(404)
  expect(JSON.parse(got.text)).toEqual(notFound(1))
  expect(stage.counts()).toMatchObject({ injected: 1, not_applicable: 0 })
  await stage.settled(2)
  expect(await stage.origins()).toEqual(['injected'])
  await loses(stage)
})

it('rejects so many handshakes, and counts those that it lets pass as within the limit', async () => {
  const fault = 'session: { rejectInitialize: { times: 2, status: 502 } }'
  const stage = opened(await startSidecar({ rules: [oneFault(fault, RESTART)], upstream: jsonApp }))
  const all = await Promise.all([1, 2, 3, 4].map(() => call(stage, INITIALIZE)))
  expect(all.filter(({ status }) => status === 502)).toHaveLength(2)
  expect(all.find(({ status }) => status === 200)!.text).toBe(resultText(0))
  expect(stage.counts()).toMatchObject({ injected: 2, within_limit: 2 })
})

it('does not meet handshakes that the rule does not name', async () => {
  const fault = 'session: { rejectInitialize: {} }'
  const stage = opened(
    await startSidecar({ rules: [oneFault(fault, 'percent: 100')], upstream: jsonApp }),
  )
  expect((await call(stage, INITIALIZE)).status).toBe(200)
  expect(stage.counts().sampled).toBe(0)
})

it('stays lost for a client that has left meanwhile', async () => {
  const stage = opened(
    await startSidecar({ rules: [oneFault('session')], upstream: jsonApp, session: 's1' }),
  )
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1, 'echo', 'Mcp-Session-Id: s1\r\n'), 'POST')
  await stage.until(() => stage.injected.length === 1)
  client.close()
  await stage.settled()
  expect(stage.active()).toBe(0)
  await loses(stage)
})

it('keeps no long ids of lost sessions, which clients choose', async () => {
  const stage = opened(await startSidecar({ rules: [oneFault('session')], upstream: jsonApp }))
  const lose = async (count: number, name: string): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const headers = { 'mcp-session-id': `${name}${n}${'x'.repeat(12_000)}` }
      expect((await call({ ...stage, headers }, callMessage(n))).status).toBe(404)
    }
  }
  await lose(50, 'warm')
  const before = bytesHeld().heapUsed
  await lose(1000, 'lost')
  expect(bytesHeld().heapUsed - before).toBeLessThan(6_000_000)
})
