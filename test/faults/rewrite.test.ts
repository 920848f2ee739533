import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, callMessage } from '../support/http-call.ts'
import { closers } from '../support/closers.ts'
import { responseText, bodyApp, streamApp, streamOf } from './responding-app.ts'
import { oneFault } from './one-fault.ts'
import { startSidecar } from '../support/sidecar.ts'
import { type RuledSidecar } from '../support/ruled-sidecar.ts'

const opened = closers()
const RESULT =
  '{"content":[{"type" :"text","text":"{\\"t\\" : 1.50,\\"u\\":\\"\\u00e9\\"}"}] , "structuredContent":{ "t":1.50,"u":"é" }}'
const RENAMED = RESULT.replace('\\"t\\"', '\\"temp\\"').replace('"t":', '"temp":')
const RENAME = 'rewrite: { rename: { /t: temp } }'

async function start(fault: string, app: RequestListener, match?: string): Promise<RuledSidecar> {
  return opened(await startSidecar({ rules: [oneFault(fault, match)], upstream: app }))
}

it('changes a JSON response, its length, and no other byte', async () => {
  const stage = await start(RENAME, bodyApp(RESULT))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(responseText(RENAMED))
  expect(got.headers['content-length']).toBe(String(Buffer.byteLength(got.text)))
  expect(got.headers['x-squall-fault']).toBe('bad/rewrite')
  expect(stage.injected).toMatchObject([{ effect: 'rename /t' }])
  expect(stage.counts().injected).toBe(1)
  expect(await stage.origins()).toEqual(['upstream'])
})

it('changes the event that answers, and no other byte', async () => {
  const stage = await start(RENAME, streamApp(RESULT))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(
    streamOf(RENAMED).replace(': hi\n\n', ': hi\n\n: x-squall-fault bad/rewrite\n\n'),
  )
})

it('changes one response of a batch, and no byte of the others', async () => {
  const stage = await start(RENAME, bodyApp(RESULT))
  const got = await call(stage, [callMessage(1, 'other'), callMessage(2)])
  expect(got.text).toBe(`[${responseText(RESULT, 1)},${responseText(RENAMED, 2)}]`)
})

it('says that it found nothing to change', async () => {
  const stage = await start('rewrite: { remove: /nothing }', bodyApp(RESULT))
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(responseText(RESULT))
  expect(got.headers['x-squall-fault']).toBeUndefined()
  expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

it('keeps the id of an event that another fault replaces', async () => {
  const abort = oneFault('abort: { toolError: x, at: response }', 'match: { tool: echo }')
  const rules = [oneFault(RENAME), { ...abort, name: 'next' }]
  const stage = opened(await startSidecar({ rules, upstream: streamApp(RESULT) }))
  const got = await call(stage, callMessage(1))
  expect(got.text).toMatch(/id: a2\nevent: message\ndata: \{[^\n]*"isError":true[^\n]*\n\n$/)
})

it('draws the same change for the same seed', async () => {
  const texts = new Set<string>()
  for (let run = 0; run < 2; run++) {
    const stage = await start('rewrite: { drift: 2 }', bodyApp(RESULT))
    texts.add((await call(stage, callMessage(1))).text)
    expect(stage.counts().injected).toBe(1)
  }
  expect(texts.size).toBe(1)
  expect([...texts][0]).not.toBe(responseText(RESULT))
})

it('changes the arguments that the app gets, and no other byte', async () => {
  const bodies: string[] = []
  const app: RequestListener = (req, res) => {
    req.on('data', (part: Buffer) => bodies.push(part.toString()))
    bodyApp(RESULT)(req, res)
  }
  const text = (to: string): string =>
    `{ "id":1,"method" : "tools/call","jsonrpc":"2.0","params":{"arguments":{"n":10000000000000000001, ${to}},"name":"echo"}}`
  const stage = await start('rewrite: { in: arguments, retype: { /q: string } }', app)
  await call(stage, text('"q" : 1.0'))
  await call(stage, text('"other":1'))
  expect(bodies).toEqual([text('"q" : "1.0"'), text('"other":1')])
  expect(stage.counts()).toMatchObject({ injected: 1, not_applicable: 1 })
})

it('changes the schemas of tools that are listed', async () => {
  const tools =
    '{"tools":[{"name":"echo", "inputSchema":{"properties" :{"q":{}}}},{"name":"b","inputSchema":{"properties":{"q":{}}}}]}'
  const stage = await start(
    'rewrite: { in: inputSchema, tools: "e*", rename: { /properties/q: query } }',
    bodyApp(tools),
    'match: { method: tools/list }',
  )
  const got = await call(stage, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  expect(got.text).toBe(responseText(tools.replace('"q"', '"query"')))
})
