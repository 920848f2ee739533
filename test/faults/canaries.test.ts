import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { Canaries } from '../../src/listener/faults/session-control.ts'
import { toolOf } from '../../src/mcp/call.ts'
import type { PostedMessages } from '../../src/mcp/classify.ts'
import { POLL, post, request } from '../accounting/stage.ts'
import { call, callMessage, startSidecar } from '../support/wire.ts'
import { bytesHeld } from '../support/bytes-held.ts'
import { closers } from '../support/closers.ts'
import { oneFault } from './one-fault.ts'
import { PushApp, said } from './push-app.ts'
import { bodyApp } from './responding-app.ts'

const opened = closers()
const CANARY = 'canary-7f3a'
const POISON = `poison: { canary: ${CANARY} }`
const RESULT = '{"content":[{"type":"text","text":"a"}]}'

/** A sidecar one of whose results has the canary in it. */
async function poisoned() {
  const rules = [oneFault(POISON)]
  const stage = opened(await startSidecar({ rules, upstream: bodyApp(RESULT) }))
  await call(stage, callMessage(1))
  return stage
}

const asking = (id: number, note: string): object => ({
  ...callMessage(id),
  params: { name: 'send', arguments: { note } },
})
const note = (text: string): object => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, message: text },
})
/** The same text as a client that escapes its letters writes it. */
const escaped = (message: object): string =>
  JSON.stringify(message).replace(CANARY, String.raw`\u0063${CANARY.slice(1)}`)

it.each([
  ['a call', asking(2, CANARY), ['tools/call']],
  ['a call that escapes it', escaped(asking(2, CANARY)), ['tools/call']],
  ['a notification', note(CANARY), ['notifications/progress']],
  ['a response', { jsonrpc: '2.0', id: 's', result: { text: CANARY } }, ['']],
  [
    'a batch',
    [note('x'), asking(2, CANARY), note(CANARY), asking(3, 'x'), note('y')],
    ['tools/call', 'notifications/progress'],
  ],
  ['a call with another word', asking(2, CANARY.slice(1)), []],
  ['a call that escapes another word', escaped(asking(2, 'x')), []],
])('finds the canary in %s', async (_, message, methods) => {
  const stage = await poisoned()
  await call(stage, message)
  expect(stage.faults.canaryCalls.map(({ method }) => method)).toEqual(methods)
})

it('finds the canary behind an escape of JSON in a text', async () => {
  const stage = await poisoned()
  await call(stage, asking(2, JSON.stringify({ body: `see\n${CANARY}` })))
  expect(stage.faults.canaryCalls.map(toolOf)).toEqual(['send'])
})

it('keeps the latest canaries alone, in bounded memory', () => {
  const canaries = new Canaries()
  const found = (text: string) => {
    const posted = { calls: [{ params: { text } }], others: [] } as unknown as PostedMessages
    return canaries.in(new Uint8Array(), posted).length > 0
  }
  canaries.add('first-canary')
  expect(found('a first-canary')).toBe(true)
  const before = bytesHeld().heapUsed
  for (let i = 0; i < 50_000; i++) canaries.add(`word${i} canary`)
  expect(bytesHeld().heapUsed - before).toBeLessThan(1024 * 1024)
  expect(found('word49999 canary')).toBe(true)
  expect(found('word49900 canary')).toBe(true)
  expect(found('a first-canary')).toBe(false)
})

it('finds the canary in a compressed call', async () => {
  const stage = await poisoned()
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'content-encoding': 'gzip',
  }
  const body = gzipSync(JSON.stringify(asking(2, CANARY)))
  const left = new AbortController()
  // The upstream does not read compressed calls.
  const sent = fetch(`${stage.url}/mcp`, { method: 'POST', body, headers, signal: left.signal })
  await expect.poll(() => stage.faults.canaryCalls.map(toolOf), POLL).toEqual(['send'])
  left.abort()
  await expect(sent).rejects.toThrow()
})

it('names the request and the tool to which a poisoned response belongs', async () => {
  const app = await PushApp.open([
    { ...oneFault(POISON), name: 'poison' },
    oneFault('delay: { fixed: 1ms }', 'match: { method: sampling/createMessage }'),
  ])
  const client = await app.listen('a')
  await app.call('a', 1)
  app.say(said({ jsonrpc: '2.0', id: 1, result: JSON.parse(RESULT) as object }))
  await expect.poll(() => client.text.includes(CANARY), POLL).toBe(true)
  app.say(said({ jsonrpc: '2.0', id: 's', method: 'sampling/createMessage', params: {} }))
  await client.sees('sampling')
  const result = { role: 'assistant', content: { type: 'text', text: `see ${CANARY}` } }
  await app.stage.exchange(post({ jsonrpc: '2.0', id: 's', result }, '', '/message?sessionId=a'))
  expect(app.faults.canaryCalls).toMatchObject([{ method: 'sampling/createMessage' }])
  await app.stage.exchange(post(request(9, 'tools/call', { name: 'echo' }), '', '/none'))
  expect(app.faults.canaryCalls).toHaveLength(1)
  client.close()
  await app.close()
})
