import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, type RuledSidecar, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { responseText, bodyApp, streamApp, streamOf } from './responding-app.ts'
import { whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const TOOLS = '{"tools":[{"name":"a" , "n":1.0}, {"name":"b"}]}'
const CHANGED = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

async function start(fault: string, app: RequestListener): Promise<RuledSidecar> {
  const rule = oneFault(fault, 'match: { method: tools/list }')
  return opened(await startSidecar({ rules: [rule], upstream: app, session: 's' }))
}

it('hides and adds tools, in JSON and in a stream', async () => {
  const fault = 'catalog: { hide: a, add: [{ name: g }] }'
  const wanted = '{"tools":[{"name":"b"},{"name":"g","inputSchema":{"type":"object"}}]}'
  const body = await start(fault, bodyApp(TOOLS))
  const got = await call(body, LIST)
  expect(got.text).toBe(responseText(wanted))
  expect(got.headers['x-squall-fault']).toBe('bad/catalog')
  expect(body.injected).toMatchObject([{ effect: 'hide 1, add 1' }])
  const stream = await start(fault, streamApp(TOOLS))
  const marker = ': x-squall-fault bad/catalog\n\n'
  expect((await call(stream, LIST)).text).toBe(streamOf(wanted, marker))
})

it('gives the first list for ever', async () => {
  let responses = 0
  const stage = await start('catalog: { stale: true }', (req, res) => {
    bodyApp(`{"tools":[{"name":"v${++responses}"}]}`)(req, res)
  })
  const texts: string[] = []
  for (let id = 1; id <= 3; id++) texts.push((await call(stage, { ...LIST, id })).text)
  expect(texts).toEqual([1, 2, 3].map((id) => responseText('{"tools":[{"name":"v1"}]}', id)))
  expect(stage.counts()).toMatchObject({ injected: 2, within_limit: 1, not_applicable: 0 })
})

it('pages for ever, and refuses a page that is not there', async () => {
  const asked: unknown[] = []
  const app: RequestListener = (req, res) => {
    whenAsked(req, ([message]) => {
      asked.push((message as { params?: unknown }).params)
      res.setHeader('content-type', 'application/json')
      res.end(responseText('{"tools":[]}'))
    })
  }
  const next = (text: string): string =>
    (JSON.parse(text) as { result: { nextCursor: string } }).result.nextCursor
  const loop = await start('catalog: { cursor: loop }', app)
  const first = next((await call(loop, { ...LIST, params: {} })).text)
  expect(next((await call(loop, { ...LIST, params: { cursor: first } })).text)).toBe(first)
  expect(asked).toEqual([{}, {}])
  const bad = await start('catalog: { cursor: invalid }', app)
  const cursor = next((await call(bad, LIST)).text)
  const got = await call(bad, { ...LIST, params: { cursor } })
  expect(JSON.parse(got.text)).toMatchObject({ id: 1, error: { code: -32602 } })
  expect(asked).toHaveLength(3)
})

it('says that the list has changed before a stream answers, and not in JSON', async () => {
  const stream = await start('catalog: { notify: spurious }', streamApp(TOOLS))
  const marker = ': x-squall-fault bad/catalog\n\n'
  expect((await call(stream, LIST)).text).toBe(
    streamOf(TOOLS, `${marker}event: message\n${CHANGED}`),
  )
  const body = await start('catalog: { notify: spurious }', bodyApp(TOOLS))
  expect((await call(body, LIST)).text).toBe(responseText(TOOLS))
  expect(body.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
})

it('takes the news of a changed list out of a stream', async () => {
  const stage = await start('catalog: { notify: suppress }', streamApp(TOOLS, CHANGED))
  const marker = ': x-squall-fault bad/catalog\n\n'
  expect((await call(stage, LIST)).text).toBe(streamOf(TOOLS, marker))
  expect(stage.counts().injected).toBe(1)
})
