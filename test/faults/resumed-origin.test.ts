import { expect, test } from 'vitest'
import { chunk } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import {
  event,
  get,
  LAST_CHUNK,
  post,
  request,
  result,
  Stage,
  streamHead,
} from '../accounting/stage.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const SESSION = 'Mcp-Session-Id: s1\r\n'

/** The fault keeps the response from its stream; what the client resumes may bring it. */
const FAULTS = [
  ['reset', { at: 'response', how: 'rst' }],
  ['reset', { at: 'response', how: 'fin' }],
  ['reset', { at: 'stream', how: 'rst' }],
  ['reset', { at: 'stream', how: 'fin' }],
  ['truncate', { after: { events: 1 }, framing: 'broken' }],
  ['truncate', { after: { events: 1 }, framing: 'clean' }],
  ['stream', { close: 'last' }],
] as const

/** Faults of the request that resumes a stream. */
const BLOCKING = [
  'abort: { status: 503 }',
  'reset: {}',
  'hang: {}',
  'truncate: { after: { bytes: 20B } }',
]

test.each(BLOCKING)(
  'a call whose stream cannot be resumed for %s was ended by that',
  async (of) => {
    const stage = opened(
      await Stage.open(
        (exchange) => {
          const posted = exchange.request.method === 'POST'
          const event1 = event({ jsonrpc: '2.0', method: 'notifications/x' }, 'e0')
          void exchange.send([streamHead(), posted ? event1 : event(result(1), 'e1'), LAST_CHUNK])
        },
        { rules: [oneFault(of, 'match: { http: { method: GET } }')], inFlightTtl: 300 },
      ),
    )
    await stage.exchange(post(request(1), SESSION))
    const client = await stage.send(get('/mcp', `${SESSION}Last-Event-ID: e0\r\n`), 'GET')
    await expect.poll(() => stage.squall.faults!.counts().injected).toBe(1)
    client.close()
    await stage.ends({ 'tools/call echo: incomplete by injected': 1 })
  },
)

test.each(['stream: { drop: last }', 'stream: { close: last }', 'stream: { close: 1 }'])(
  'a response that %s kept from a resumed stream comes by the next one',
  async (fault) => {
    const stage = opened(
      await Stage.open(
        (exchange) => {
          const posted = exchange.request.method === 'POST'
          const note = event({ jsonrpc: '2.0', method: 'notifications/x' }, 'e1')
          const events = posted ? [chunk('id: e0\n\n')] : [note, event(result(1), 'e2')]
          void exchange.send([streamHead(), ...events, LAST_CHUNK])
        },
        { rules: [oneFault(fault)] },
      ),
    )
    await stage.exchange(post(request(1), SESSION))
    for (const last of ['e0', 'e1']) {
      const bytes = get('/mcp', `${SESSION}Last-Event-ID: ${last}\r\n`)
      await (await stage.send(bytes, 'GET')).response()
    }
    await stage.ends({ 'tools/call echo: ok': 1 })
    expect(stage.squall.faults!.counts()).toMatchObject({ injected: 1 })
  },
)

async function cutStage(fault: string, config: object): Promise<Stage> {
  const stage = opened(
    await Stage.open(
      (exchange) => {
        const posted = exchange.request.method === 'POST'
        void exchange.send([
          streamHead(),
          ...(posted ? [event({ jsonrpc: '2.0', method: 'notifications/x' }, 'e0')] : []),
          event(result(1), 'e1'),
          LAST_CHUNK,
        ])
      },
      { rules: [oneFault(`${fault}: ${JSON.stringify(config)}`)], inFlightTtl: 300 },
    ),
  )
  const client = await stage.send(post(request(1), SESSION))
  await client.response()
  client.close()
  expect(stage.squall.faults!.counts().injected).toBe(1)
  return stage
}

test.each(FAULTS)('%s %j ends a call whose stream nobody resumes', async (fault, config) => {
  const stage = await cutStage(fault, config)
  const outcome = 'how' in config && config.how === 'rst' ? 'reset' : 'incomplete'
  await stage.ends({ [`tools/call echo: ${outcome} by injected`]: 1 })
})

test.each(FAULTS)('a response that %s %j kept comes by a resumed stream', async (fault, config) => {
  const stage = await cutStage(fault, config)
  const client = await stage.send(get('/mcp', `${SESSION}Last-Event-ID: e0\r\n`), 'GET')
  await client.response()
  await stage.ends({ 'tools/call echo: ok': 1 })
})
