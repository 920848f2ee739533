// part: slow
import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { result as pushed } from '../accounting/stage.ts'
import { closers } from '../support/closers.ts'
import {
  call,
  callMessage,
  post,
  type RuledSidecar,
  type StartOptions,
  startSidecar,
} from '../support/wire.ts'
import { whenAsked } from './apps.ts'
import { oneFault } from './one-fault.ts'
import { heard, PushApp, said } from './push-app.ts'
import { bodyApp, responseText, streamApp, streamOf } from './responding-app.ts'

const opened = closers()
const MIB = 1024 * 1024
const RESULT =
  '{"content":[{"type":"text","text":"a"},{"type" :"text","text":"b\\u0021\\nü"}],"x":1.0}'

async function start(
  fault: string,
  app: RequestListener,
  options: Partial<StartOptions> = {},
): Promise<RuledSidecar> {
  const rules = [oneFault(fault)]
  return opened(await startSidecar({ ...options, rules, upstream: app }))
}

/** The texts of the result in a response. */
function textsOf(response: string): readonly string[] {
  const { result } = JSON.parse(response) as { result: { content: { text: string }[] } }
  return result.content.map(({ text }) => text)
}

/** Returns the outcomes of the calls, as `outcome by origin`. */
async function outcomes(stage: RuledSidecar): Promise<readonly string[]> {
  const lines = (await stage.metrics()).match(/^squall_calls_total\{.*\} [1-9]/gm) ?? []
  return lines.map((line) => line.replace(/.*outcome="(\w+)",origin="(\w+)".*/, '$1 by $2'))
}

it('grows the last text of a result to the size, and changes no other byte', async () => {
  const stage = await start('inflate: { to: 200KiB, with: "né\\n" }', bodyApp(RESULT))
  const got = await call(stage, callMessage(1))
  const [first, last] = textsOf(got.text)
  expect(first).toBe('a')
  expect(last!.slice(0, 12)).toBe('b!\nüné\nné\nné')
  expect(Buffer.byteLength(last!)).toBe(200 * 1024 - 1)
  const filler = JSON.stringify(last!.slice('b!\nü'.length)).slice(1, -1)
  expect(got.text).toBe(responseText(RESULT.replace('ü', `ü${filler}`)))
  expect(got.headers['content-length']).toBe(`${Buffer.byteLength(got.text)}`)
  expect(got.headers['x-squall-fault']).toBe('bad/inflate')
  expect(stage.injected).toMatchObject([{ effect: '200KiB' }])
  expect(await outcomes(stage)).toEqual(['ok by real'])
  expect(await stage.metrics()).toContain('squall_calls_changed_total{tool="echo"} 1')
})

it('grows the event that answers, also where its JSON takes several lines', async () => {
  const lines: RequestListener = (req, res) =>
    whenAsked(req, () => {
      res.setHeader('content-type', 'text/event-stream')
      const event = streamOf(RESULT.replace('{"type" :', '{\r\ndata: "type" :'))
      res.end(event.replace('"big"', '\r\ndata:"big"'))
    })
  for (const app of [streamApp(RESULT), lines]) {
    const stage = await start('inflate: { to: 100KiB, with: xyz }', app)
    const { text } = await call(stage, callMessage(1))
    const last = 'b!\nü'
    const filler = 'xyz'.repeat(MIB).slice(0, 100 * 1024 - 1 - Buffer.byteLength(last))
    const whole = streamOf(RESULT.replace('ü', `ü${filler}`))
    expect(text.replaceAll('\r\ndata: "type"', '"type"').replace('\r\ndata:"big"', '"big"')).toBe(
      whole.replace('event: message', ': x-squall-fault bad/inflate\n\nevent: message'),
    )
  }
})

it('repeats the lines of the result, in the same order for the same seed', async () => {
  const own = '{"content":[{"type":"text","text":"one\\r\\n\\ntwo"}]}'
  const got: string[] = []
  for (let n = 0; n < 2; n++) {
    const stage = await start('inflate: { to: 3KiB }', bodyApp(own))
    const [text] = textsOf((await call(stage, callMessage(1))).text)
    expect(new Set(text!.slice(0, 3000).split(/\s+/))).toEqual(
      new Set(['one', 'two', expect.any(String)]),
    )
    got.push(text!)
  }
  expect(got[0]).toBe(got[1])
  expect(got[0]).toHaveLength(3072)
})

it('gives a text to a tool result without one', async () => {
  const image = '{"content":[{"type":"image","data":"","mimeType":"image/png"}]}'
  const stage = await start('inflate: { to: 10KiB }', bodyApp(image))
  const { result } = JSON.parse((await call(stage, callMessage(1))).text) as {
    result: { content: { type: string; text?: string }[] }
  }
  expect(result.content.map(({ type }) => type)).toEqual(['image', 'text'])
  expect(result.content[1]!.text).toHaveLength(10 * 1024)
})

it.each([
  ['prompts/get', '{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}'],
  ['resources/read', '{"contents":[{"uri":"a:b","text":"a"}]}'],
])('grows the text of %s', async (method, result) => {
  const rules = [oneFault('inflate: { to: 1KiB, with: b }', `match: { method: ${method} }`)]
  const stage = opened(await startSidecar({ rules, upstream: bodyApp(result) }))
  const params = { name: 'a', uri: 'a:b' }
  const got = await call(stage, { jsonrpc: '2.0', id: 1, method, params })
  expect(got.text).toBe(responseText(result.replace('"a"}', `"a${'b'.repeat(1023)}"}`)))
})

it('leaves results with as much text alone, and those without content', async () => {
  for (const result of ['{"tools":[]}', RESULT]) {
    const stage = await start('inflate: { to: 6B }', bodyApp(result))
    expect((await call(stage, callMessage(1))).text).toBe(responseText(result))
    expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 1 })
  }
})

it('grows its own call of a batch, and compressed results', async () => {
  const batch = await start('inflate: { to: 1KiB }', bodyApp(RESULT))
  const got = await call(batch, [callMessage(1, 'other'), callMessage(2)])
  const sizes = (JSON.parse(got.text) as unknown[]).map((each) => JSON.stringify(each).length)
  expect(sizes[0]).toBeLessThan(200)
  expect(sizes[1]).toBeGreaterThan(1024)
  const coded = await start('inflate: { to: 1KiB }', (req, res) =>
    whenAsked(req, () => {
      res.setHeader('content-encoding', 'gzip').setHeader('content-type', 'application/json')
      res.end(gzipSync(responseText(RESULT)))
    }),
  )
  const { headers, text } = await call(coded, callMessage(1))
  expect(headers['content-encoding']).toBeUndefined()
  expect(Buffer.byteLength(textsOf(text).join(''))).toBe(1024)
})

it.each([
  ['a body', bodyApp],
  ['a stream', streamApp],
])('grows %s beyond what Squall reads, and still knows how the call ended', async (_, app) => {
  const stage = await start(
    'inflate: { to: 16MiB }',
    app(RESULT.replace('"x":1.0', '"isError":true')),
  )
  const { text } = await call(stage, callMessage(1))
  const json = /\{ "jsonrpc".*\}/.exec(text)![0]
  expect(Buffer.byteLength(textsOf(json).join(''))).toBe(16 * MIB)
  expect(await outcomes(stage)).toEqual(['tool_error by real'])
  expect(stage.counts()).toMatchObject({ injected: 1 })
})

it('says that a later fault cannot read a result that is too large', async () => {
  const keys = 'match: { tool: echo }'
  const rules = [
    oneFault('inflate: { to: 5MiB }\n      - truncate: { content: { chars: 1 } }', keys),
  ]
  const stage = opened(await startSidecar({ rules, upstream: bodyApp(RESULT) }))
  const { text } = await call(stage, callMessage(1))
  expect(text.length).toBeGreaterThan(5 * MIB)
  expect(stage.injected.map(({ fault }) => fault)).toEqual(['inflate'])
  expect(stage.notApplicable).toMatchObject([{ fault: 'truncate', reason: 'too_large' }])
})

it('leaves a result alone that does not fit into the memory of all messages', async () => {
  const stage = await start('inflate: { to: 4MiB }', bodyApp(RESULT), { maxMemory: 2 * MIB })
  expect((await call(stage, callMessage(1))).text).toBe(responseText(RESULT))
  expect(stage.notApplicable).toMatchObject([{ reason: 'memory' }])
  expect(stage.sidecar.memory.held).toBe(0)
})

it('counts the memory of a result until its client has read it or has left', async () => {
  const stage = await start('inflate: { to: 16MiB, with: x }', bodyApp(RESULT), {
    maxMemory: 40 * MIB,
  })
  const { memory } = stage.sidecar
  const slow = await post(stage, callMessage(1))
  expect(memory.held).toBeGreaterThan(16 * MIB)
  const gone = await post(stage, callMessage(2))
  expect(memory.held).toBeGreaterThan(32 * MIB)
  expect((await call(stage, callMessage(3))).text).toBe(responseText(RESULT, 3))
  expect(stage.notApplicable).toMatchObject([{ reason: 'memory' }])
  gone.destroy()
  slow.resume()
  await expect.poll(() => memory.held).toBe(0)
})

it('grows an event of a shared stream only as far as its observer reads', async () => {
  const big = oneFault('inflate: { to: 5MiB }', 'match: { tool: big }')
  const app = await PushApp.open([oneFault('inflate: { to: 1MiB }'), big])
  opened({ close: () => app.stage.close() })
  const client = await app.listen('a')
  const small = pushed(7, { content: [{ type: 'text', text: 'a' }] })
  const large = pushed(8, { content: [{ type: 'text', text: 'a' }] })
  await app.call('a', 7)
  await app.call('a', 8, 'big')
  app.say(said(small) + said(large))
  await app.stage.ends({ 'tools/call echo: ok': 1, 'tools/call big: ok': 1 })
  await expect.poll(() => heard(client).length).toBeGreaterThan(MIB)
  expect(heard(client)).toContain(said(large))
  expect(app.faults.notApplicable).toMatchObject([{ reason: 'too_large' }])
})
