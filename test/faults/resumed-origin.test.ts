import { expect, test } from 'vitest'
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
