import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { call, callMessage, type RuledSidecar, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { whenAsked } from './apps.ts'
import { responseText, bodyApp, streamApp, streamOf } from './responding-app.ts'
import { oneFault } from './one-fault.ts'
import { stepsOf } from './thread-cpu.ts'

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
  expect(await stage.origins()).toEqual(['real'])
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

it('removes the items that the upstream sent at several places of a list', async () => {
  const list = (items: string): string => `{"structuredContent":{"a":[${items}]}}`
  const pointers = '[/a/0, /a/10, /a/2, /a/0]'
  const stage = await start(
    `rewrite: { remove: ${pointers} }`,
    bodyApp(list('0,1,2,3,4,5,6,7,8,9,10,11')),
  )
  expect((await call(stage, callMessage(1))).text).toBe(responseText(list('1,3,4,5,6,7,8,9,11')))
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

it('changes the arguments that the upstream gets, and no other byte', async () => {
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

it('changes the texts of a result, and no other byte', async () => {
  const result = '{"content":[{"type":"text","text":"it is \\u0073unny"},{"type" :"image"}]}'
  const text = 'text: { prepend: "> ", replace: { sunny: "\\"$&\\"" }, append: "." }'
  const stage = await start(`rewrite: { ${text} }`, bodyApp(result))
  const got = await call(stage, callMessage(1))
  const changed = result.replace('"it is \\u0073unny"', () => '"> it is \\"$&\\"."')
  expect(got.text).toBe(responseText(changed))
  expect(stage.injected).toMatchObject([{ effect: 'text' }])
})

it.each([
  ['prompts/get', '{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}'],
  ['resources/read', '{"contents":[{"uri":"x:y","text":"a"}]}'],
])('changes the texts of %s', async (method, result) => {
  const text = '{ set: { /x: 1 }, text: { replace: { a: b } } }'
  const stage = await start(`rewrite: ${text}`, bodyApp(result), `match: { method: ${method} }`)
  const got = await call(stage, { jsonrpc: '2.0', id: 1, method })
  expect(got.text).toBe(responseText(result.replace('"a"', '"b"')))
})

it('leaves a text alone that would grow by more than a mebibyte', async () => {
  const long = `{"content":[{"type":"text","text":"${'a'.repeat(20_000)}"},{"type":"text","text":"a"}]}`
  const stage = await start(
    `rewrite: { text: { replace: { a: ${'b'.repeat(100)} } } }`,
    bodyApp(long),
  )
  const got = await call(stage, callMessage(1))
  expect(got.text).toBe(responseText(long.replace('"a"', `"${'b'.repeat(100)}"`)))
})

it('changes any value of a response: a version, a capability, an error', async () => {
  const rules = [
    oneFault(
      'rewrite: { in: message, set: { /result/protocolVersion: "1999-01-01" }, remove: /result/capabilities/tools }',
      'match: { method: initialize }',
    ),
    { ...oneFault('rewrite: { in: message, set: { /error/code: -1 } }'), name: 'code' },
  ]
  const app: RequestListener = (req, res) => {
    whenAsked(req, ([message]) => {
      const { id, method } = message!
      const error = { code: -32000, message: 'no' }
      const result = { protocolVersion: '2025-06-18', capabilities: { tools: {}, logging: {} } }
      res.setHeader('content-type', 'application/json')
      res.end(
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          ...(method === 'initialize' ? { result } : { error }),
        }),
      )
    })
  }
  const stage = opened(await startSidecar({ rules, upstream: app }))
  const hello = await call(stage, { jsonrpc: '2.0', id: 1, method: 'initialize' })
  expect(JSON.parse(hello.text)).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: { protocolVersion: '1999-01-01', capabilities: { logging: {} } },
  })
  const got = await call(stage, callMessage(2))
  expect(JSON.parse(got.text)).toMatchObject({ id: 2, error: { code: -1, message: 'no' } })
  expect(stage.injected).toMatchObject([
    { effect: 'remove /result/capabilities/tools, set /result/protocolVersion' },
    { effect: 'set /error/code' },
  ])
})

it('replaces millions of occurrences in a text soon', async () => {
  const resultOf = (word: string) =>
    `{"content":[{"type":"text","text":"${word.repeat(3_000_000)}"}]}`
  const replace = 'rewrite: { text: { replace: { a: b, b: c, c: d, d: e, e: f } } }'
  const stage = await start(replace, bodyApp(resultOf('a')))
  const got = call(stage, callMessage(1))
  // Milliseconds of CPU, which other load does not lengthen. One call for each took 1.8 s.
  expect((await stepsOf(got)).most).toBeLessThan(800)
  expect((await got).text === responseText(resultOf('f'))).toBe(true)
})
