import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { rewrite } from '../../src/filters/rewrite.ts'
import { Context, frame, frames, texts, TOOL_CALL } from './context.ts'
import { resultFrame, resultJson } from './results.ts'

type Config = Parameters<typeof rewrite.create>[0]

function config(some: Partial<Config>): Config {
  return { in: 'result', headers: 'follow', consistent: true, ...some }
}

async function through(fault: Fault, result: string, ctx = new Context()): Promise<string> {
  const [text = ''] = await texts(fault.onResponse!(ctx, frames(resultFrame(result))))
  expect(ctx.effects).toBe(text === resultJson(result) ? 0 : 1)
  return text
}

/** Returns the rewritten result. */
async function of(some: Partial<Config>, result: string, ctx?: Context): Promise<string> {
  return through(rewrite.create(config(some)), result, ctx)
}

const STEP =
  '{"content":[{"type":"text","text":"{\\"temp\\" : 1.50,\\"u\\\\/\\":\\"\\u00e9\\"}"}] , "structuredContent":{ "temp":1.50 }}'

describe('rewrite of a result', () => {
  it('keeps structured content and JSON in a text in step, and all other bytes', async () => {
    expect(await of({ rename: { '/temp': 'temp_c' } }, STEP)).toBe(
      resultJson(STEP.replace('\\"temp\\"', '\\"temp_c\\"').replace('"temp":', '"temp_c":')),
    )
  })

  it('parts them where configured', async () => {
    expect(await of({ rename: { '/temp': '/temp_c' }, consistent: false }, STEP)).toBe(
      resultJson(STEP.replace('"temp":', '"temp_c":')),
    )
  })

  it('does its operations one after the other', async () => {
    const all = {
      rename: { '/a': 'b' },
      remove: ['/gone', '/list/0'],
      set: { '/b': { x: 1 } },
      add: { '/list/-': null, '/c/d': [] },
      retype: { '/b/x': 'string' },
      nullify: '/list/*/n',
      wrap: { '/b': 'data' },
    } as const
    const result = '{"structuredContent":{"a":1, "gone":0,"list":[1,{"n":2} ],"c" : {}}}'
    expect(await of(all, result)).toBe(
      resultJson(
        '{"structuredContent":{"b":{"data":{"x":"1"}},"list":[{"n":null},null ],"c" : {"d":[]}}}',
      ),
    )
  })

  it('finds JSON in the texts of resources and prompts', async () => {
    const json = '"{\\"a\\":1}"'
    for (const result of [
      `{"contents":[{"uri":"x","text":${json}}]}`,
      `{"messages":[{"role":"user","content":{"type":"text","text":${json}}}]}`,
      `{"content":[{"type":"resource","resource":{"text":${json}}}]}`,
    ]) {
      expect(await of({ remove: '/a' }, result)).toBe(resultJson(result.replace('\\"a\\":1', '')))
    }
  })

  it.each([
    ['{"content":[{"type":"text","text":"plain /a"}]}'],
    ['{"content":[{"type":"text","text":"{\\"a\\":"}]}'],
    ['{"content":[{"type":"text","text":"\\"a\\""}]}'],
    ['{"structuredContent":{"b":1}}'],
    ['{"a":1}'],
    ['{}'],
    ['[]'],
  ])('leaves %s alone', async (result) => {
    expect(await of({ remove: '/a' }, result)).toBe(resultJson(result))
  })

  it('leaves errors, other frames and what is no JSON alone', async () => {
    const ctx = new Context()
    const fault = rewrite.create(config({ remove: '/a' }))
    const list = [
      { ...resultFrame('{"structuredContent":{"a":1}}'), last: false },
      frame('event', 'data: {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"}}\n\n', true),
      frame('body', '<html>', true),
    ]
    const before = await texts(frames(...list))
    expect(await texts(fault.onResponse!(ctx, frames(...list)))).toEqual(before)
    expect(ctx.effects).toBe(0)
  })

  it('reads the event again and keeps its other fields', async () => {
    const fault = rewrite.create(config({ nullify: '/a' }))
    const all = fault.onResponse!(
      new Context(),
      frames(resultFrame('{"structuredContent":{"a":1}}', 'event')),
    )
    for await (const each of all) {
      const result = { structuredContent: { a: null } }
      expect(each).toMatchObject({ kind: 'event', last: true, message: { kind: 'result', result } })
      const text = Buffer.from(each.raw).toString()
      expect(text).toBe(
        `id: 5\r\nevent: message\r\ndata: ${resultJson('{"structuredContent":{"a":null}}')}\r\n\r\n`,
      )
    }
  })
})

describe('rewrite in the list of tools', () => {
  const tools =
    '{"tools":[{"name":"a", "inputSchema":{"properties" :{"q":{}}}},{"name":"b","inputSchema":{"properties":{"q":{}}}}]}'

  it('changes the schema of each tool', async () => {
    const to = { rename: { '/properties/q': 'query' }, in: 'inputSchema' } as const
    expect(await of(to, tools)).toBe(resultJson(tools.replaceAll('"q"', '"query"')))
  })

  it('changes that of the tools that are named', async () => {
    const to = {
      rename: { '/properties/q': 'query' },
      in: 'inputSchema',
      tools: ['b*', 'z'],
    } as const
    expect(await of(to, tools)).toBe(resultJson(tools.replace(/(?<="b".*)"q"/, '"query"')))
    expect(await of({ ...to, tools: 'c' }, tools)).toBe(resultJson(tools))
  })

  it('changes a whole tool, and adds what it does not have', async () => {
    const [first] = tools.split('},{"name":"b"')
    const to = { add: { '/outputSchema': { type: 'object' } }, in: 'tool', tools: 'a' } as const
    expect(await of(to, tools)).toBe(
      resultJson(tools.replace(first!, `${first},"outputSchema":{"type":"object"}`)),
    )
    expect(await of({ set: { '/type': 1 }, in: 'outputSchema' }, tools)).toBe(resultJson(tools))
  })
})

describe('rewrite of arguments', () => {
  const call = { ...TOOL_CALL, params: { name: 'search', arguments: { q: 'x', n: 1 } } }
  const text = '{"params" : {"arguments":{"n":10000000000000000001, "q" :"x"},"name":"search"}}'

  it('edits the call as it came', async () => {
    const ctx = new Context({ call })
    const fault = rewrite.create(config({ in: 'arguments', rename: { '/q': 'query' } }))
    expect(Object.keys(fault)).toEqual(['changes', 'onRequest'])
    const verdict = await fault.onRequest!(ctx)
    if (verdict.kind !== 'edit') throw new TypeError(verdict.kind)
    expect(await verdict.edit(text)).toBe(text.replace('"q"', '"query"'))
    expect(await verdict.edit('{}')).toBeUndefined()
    expect(ctx.effects).toBe(1)
  })

  it('draws once, and makes the same change of the call as it came', async () => {
    const ctx = new Context({ call, draws: [0.9, 0.2] })
    const fault = rewrite.create(config({ in: 'arguments', drift: 1 }))
    const verdict = await fault.onRequest!(ctx)
    if (verdict.kind !== 'edit') throw new TypeError(verdict.kind)
    expect(await verdict.edit(text)).toBe(text.replace('"n":10000000000000000001, ', ''))
  })

  it('leaves a call alone that has none of them', async () => {
    const fault = rewrite.create(config({ in: 'arguments', remove: '/other' }))
    for (const ctx of [new Context({ call }), new Context(), new Context({ call: undefined })]) {
      expect(await fault.onRequest!(ctx)).toEqual({ kind: 'continue' })
      expect(ctx.effects).toBe(0)
    }
  })
})

describe('drift', () => {
  const result =
    '{"structuredContent":{"items":[{"unitPrice":1,"ok":true},{"unitPrice":2}],"next_page":null}}'
  // The members in order: items, items/*/unitPrice, items/*/ok, next_page.
  it.each([
    [[0.3, 0], result.replaceAll('unitPrice', 'unit_price')],
    [[0.3, 0.2], result.replace('"unitPrice":1,', '').replace('"unitPrice":2', '')],
    [[0.3, 0.4], result.replace(':1', ':"1"').replace(':2', ':"2"')],
    [[0.3, 0.6], result.replace(':1', ':null').replace(':2', ':null')],
    [[0.3, 0.7], result.replace(':1', ':{"value":1}').replace(':2', ':{"value":2}')],
    [
      [0.3, 0.9],
      result.replace('true', 'true,"unit_price":"new"').replace(':2', ':2,"unit_price":"new"'),
    ],
    [[0.99, 0], result.replace('next_page', 'nextPage')],
    [[0, 0], result.replace('items', 'items_v2')],
    [[0.99, 0.6], result.replace(',"next_page":null', '')],
  ])('of the draws %j', async (draws, wanted) => {
    expect(await of({ drift: 1 }, result, new Context({ draws }))).toBe(resultJson(wanted))
    // Without any parameter there is one change, too.
    expect(await of({}, result, new Context({ draws }))).toBe(resultJson(wanted))
  })

  it('makes as many changes as configured, alike in structure and text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom('a', 'b_c', 'dE', '*', ''), fc.jsonValue({ maxDepth: 2 }), {
          minKeys: 1,
        }),
        fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 20 }),
        async (value, draws) => {
          const json = JSON.stringify(value)
          const both = `{"structuredContent":${json},"content":[{"type":"text","text":${JSON.stringify(json)}}]}`
          const fault = rewrite.create(config({ drift: 3 }))
          const [text] = await texts(
            fault.onResponse!(new Context({ draws }), frames(resultFrame(both))),
          )
          const after = JSON.parse(text!) as {
            result: { structuredContent: unknown; content: { text: string }[] }
          }
          expect(JSON.parse(after.result.content[0]!.text)).toEqual(after.result.structuredContent)
          const isChanged = JSON.stringify(after.result.structuredContent) !== json
          expect(isChanged).toBe(Object.keys(value).some((key) => key !== '*'))
        },
      ),
    )
  })

  it('leaves a result without members alone', async () => {
    expect(await of({ drift: 2 }, '{"structuredContent":[1]}')).toBe(
      resultJson('{"structuredContent":[1]}'),
    )
  })
})

describe('rewrite', () => {
  it.each([
    [{ rename: { temp: 'x' } }, 'rename.temp'],
    [{ rename: { '/a/*': 'x' } }, 'rename./a/*'],
    [{ rename: { '/a/b': '/c' } }, 'rename./a/b'],
    [{ rename: { '/a': '/~2' } }, 'rename./a'],
    [{ add: { '/a/*': 1 } }, 'add./a/*'],
    [{ set: { '/~': 1 } }, 'set./~'],
    [{ set: { '': 1 } }, 'set.'],
    [{ set: { ['/a'.repeat(51)]: 1 } }, `set.${'/a'.repeat(51)}`],
    [{ retype: { [`/${'a'.repeat(1024)}`]: 'null' } }, `retype./${'a'.repeat(1024)}`],
    [{ remove: 'a' }, 'remove'],
    [{ nullify: ['/a', 'b'] }, 'nullify'],
    [{ remove: '/a', tools: 'x' }, 'tools'],
    [{ remove: '/a', in: 'tool', consistent: false }, 'consistent'],
    [{ text: { append: 'x' }, in: 'message', remove: '/result/a' }, 'text'],
    [{ text: { replace: { '': 'x' } } }, 'text.replace'],
    [{ in: 'message' }, 'in'],
    [{ in: 'message', drift: 1, remove: '/result/a' }, 'in'],
    [{ in: 'message', set: { '/id': 7 } }, 'in'],
    [{ in: 'message', remove: ['/result/a', '/*/b'] }, 'in'],
  ] as const)('of %j is refused', (parameters, path) => {
    const problems = rewrite.check!(config(parameters))
    expect(problems.map((problem) => problem.path.join('.'))).toEqual([path])
  })

  it.each([
    [{}],
    [{ rename: { '/a/*/b': '/a/*/c', '/x': 'y' }, remove: ['/a/*'] }],
    [{ remove: '/a', in: 'tool', tools: 'x' }],
    [{ text: { prepend: 'a', append: 'b', replace: { c: '' } } }],
    [{ in: 'message', remove: '/result', set: { '/error/code': 1 } }],
  ] as const)('of %j is in order', (parameters) => {
    expect(rewrite.check!(config(parameters))).toEqual([])
  })
})
