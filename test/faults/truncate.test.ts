import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import {
  call,
  callMessage,
  type ClientResponse,
  RawClient,
  type RuledSidecar,
  startSidecar,
  toolCall,
} from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { responseText, bodyApp, streamApp, streamOf } from './responding-app.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const RESULT = '{"content":[{"type":"text","text":"[1, 2, 3]"}],"structuredContent":[1, 2, 3]}'
const BODY = responseText(RESULT)

async function start(fault: string, app: RequestListener, match?: string): Promise<RuledSidecar> {
  return opened(await startSidecar({ rules: [oneFault(fault, match)], upstream: app }))
}

/** The one response as it came, and whether the connection is good for another call. */
async function met(stage: RuledSidecar): Promise<{ response: ClientResponse; reusable: boolean }> {
  const client = await RawClient.connect(stage.port)
  await client.send(toolCall(1), 'POST')
  const response = (await client.response())!
  await client.send(toolCall(2, 'other'), 'POST').catch(() => undefined)
  const second = response.complete ? await client.response(1) : undefined
  client.close()
  return { response, reusable: second?.complete === true }
}

const HALF = Math.floor(BODY.length / 2)

it.each([
  ['truncate', false, HALF],
  ['truncate', true, HALF],
  ['truncate: { after: { bytes: 20B } }', false, 20],
  ['truncate: { after: { bytes: 20B } }', true, 20],
  ['truncate: { after: { percent: 0 } }', false, 0],
])('by %s breaks a body off in the middle (chunked: %j)', async (fault, chunked, size) => {
  const stage = await start(fault, bodyApp(RESULT, chunked))
  const { response, reusable } = await met(stage)
  expect(response).toMatchObject({
    status: 200,
    framing: chunked ? 'chunked' : 'length',
    complete: false,
  })
  expect(response.body.toString()).toBe(BODY.slice(0, size))
  expect(response.headers).toContain('bad/truncate')
  expect(reusable).toBe(false)
  expect(stage.counts().injected).toBe(1)
  expect(stage.active()).toBe(0)
  expect(await stage.origins()).toEqual(['injected'])
})

it.each([true, false])('ends a cut body in order (chunked: %j)', async (chunked) => {
  const stage = await start(
    'truncate: { after: { bytes: 20B }, framing: clean }',
    bodyApp(RESULT, chunked),
  )
  const { response, reusable } = await met(stage)
  expect(response).toMatchObject({ framing: chunked ? 'chunked' : 'length', complete: true })
  expect(response.body.toString()).toBe(BODY.slice(0, 20))
  expect(reusable).toBe(true)
  expect(await stage.origins()).toEqual(['injected'])
})

it.each([
  ['truncate: { after: { events: 1 } }', ''],
  ['truncate: { after: { events: 1 }, framing: clean }', ''],
  ['truncate', 'event: message\r\nid: a2\r\nda'],
])('by %s ends a stream before its response', async (fault, more) => {
  const stage = await start(fault, streamApp(RESULT))
  const { response, reusable } = await met(stage)
  const clean = fault.includes('clean')
  expect(response).toMatchObject({ framing: 'chunked', complete: clean })
  expect(response.body.toString().replace(/: x-squall-fault [^\n]*\n\n/, '')).toContain(
    `id: a1\r\ndata: \r\n\r\n${more === '' ? '' : `: hi\n\n${more}`}`,
  )
  expect(response.body.toString()).not.toContain('"id" : 1')
  expect(reusable).toBe(clean)
  expect(stage.counts().injected).toBe(1)
})

it.each([
  ['truncate: { content: { items: 1 } }', '[1]'],
  ['truncate: { content: { percent: 50 } }', '[1, 2]'],
])('by %s leaves a whole response that holds less', async (fault, list) => {
  const less = RESULT.replaceAll('[1, 2, 3]', list)
  for (const [app, text] of [
    [bodyApp(RESULT), responseText(less)],
    [streamApp(RESULT), streamOf(less)],
  ] as const) {
    const stage = await start(fault, app)
    const got = await call(stage, callMessage(1))
    expect(got.text.replace(/: x-squall-fault [^\n]*\n\n/, '')).toBe(text)
    expect(stage.counts().injected).toBe(1)
    expect(await stage.origins()).toEqual(['real'])
  }
})

it('shortens one response of a batch, and no byte of the others', async () => {
  const stage = await start('truncate: { content: { items: 1 } }', bodyApp(RESULT))
  const got = await call(stage, [callMessage(1, 'other'), callMessage(2)])
  const less = responseText(RESULT.replaceAll('[1, 2, 3]', '[1]'), 2)
  expect(got.text).toBe(`[${responseText(RESULT, 1)},${less}]`)
})

it('leaves a batch whole that it could only cut for all of its calls', async () => {
  const stage = await start('truncate', bodyApp(RESULT))
  const got = await call(stage, [callMessage(1, 'other'), callMessage(2)])
  expect(got.text).toBe(` [${responseText(RESULT, 1)} ,\n${responseText(RESULT, 2)} ] `)
  expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

it.each([
  ['truncate: { after: { bytes: 1MiB } }', bodyApp(RESULT), BODY],
  ['truncate: { after: { events: 1 } }', bodyApp(RESULT), BODY],
  ['truncate: { after: { events: 2 } }', streamApp(RESULT), streamOf(RESULT)],
  ['truncate: { content: { chars: 100 } }', bodyApp(RESULT), BODY],
])('by %s says that there was nothing to cut', async (fault, app, text) => {
  const stage = await start(fault, app)
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(text)
  expect(got.headers['x-squall-fault']).toBeUndefined()
  expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

it('shortens what is compressed, and sends it plain', async () => {
  const stage = await start('truncate: { content: { items: 1 } }', (req, res) => {
    req.resume()
    const bytes = gzipSync(BODY)
    res.writeHead(200, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'content-length': bytes.length,
    })
    res.end(bytes)
  })
  const got = await call(stage, callMessage(1))
  expect(got.headers['content-encoding']).toBeUndefined()
  expect(got.text).toBe(responseText(RESULT.replaceAll('[1, 2, 3]', '[1]')))
})
