import { describe, expect, it } from 'vitest'
import { catalog } from '../../src/filters/catalog.ts'
import type { Call } from '../../src/mcp/call.ts'
import { Context, frame, frames, texts, TOOL_CALL } from './context.ts'
import { resultFrame, resultJson } from './results.ts'

type Config = Parameters<typeof catalog.create>[0]

function listCall(method = 'tools/list', params: unknown = {}): Call {
  return { ...TOOL_CALL, method, name: undefined, params }
}

async function of(config: Config, result: string, ctx = new Context({ call: listCall() })) {
  const before = ctx.effects
  const [text = ''] = await texts(
    catalog.create(config).onResponse!(ctx, frames(resultFrame(result))),
  )
  expect(ctx.effects - before).toBe(text === resultJson(result) ? 0 : 1)
  return text
}

const A = '{"name":"a_1", "n":10000000000000000001}'
const B = '{ "name" : "b" }'
const TOOLS = `{"tools":[${A} , ${B},{"name":"a_2"}] , "x":1}`
const GHOST = { name: 'g', inputSchema: { type: 'object' } }

describe('a list of tools', () => {
  it.each<[Config, string]>([
    [{ hide: 'b' }, `{"tools":[${A},{"name":"a_2"}] , "x":1}`],
    [{ hide: ['a_*', 'c'] }, `{"tools":[${B}] , "x":1}`],
    [{ hide: '*' }, '{"tools":[] , "x":1}'],
    [{ duplicate: 'a_1' }, TOOLS.replace(A, `${A},${A}`)],
    [{ hide: 'a_*', duplicate: '*' }, `{"tools":[${B},${B}] , "x":1}`],
    [{ add: [GHOST] }, TOOLS.replace('] ,', ',{"name":"g","inputSchema":{"type":"object"}}] ,')],
    [
      { hide: '*', add: [{ ...GHOST, description: 'd' }, GHOST] },
      '{"tools":[{"name":"g","description":"d","inputSchema":{"type":"object"}},{"name":"g","inputSchema":{"type":"object"}}] , "x":1}',
    ],
    [{ cursor: 'invalid' }, TOOLS.replace('"x":1', '"x":1,"nextCursor":"squall:no-such-page"')],
    [{ cursor: 'loop' }, TOOLS.replace('"x":1', '"x":1,"nextCursor":"squall:first-page"')],
    [{ hide: 'c' }, TOOLS],
  ])('changed by %j', async (config, wanted) => {
    expect(await of(config, TOOLS)).toBe(resultJson(wanted))
  })

  it('gets its ghosts on its first page only', async () => {
    const ctx = new Context({ call: listCall('tools/list', { cursor: 'p2' }) })
    expect(await of({ add: [GHOST] }, TOOLS, ctx)).toBe(resultJson(TOOLS))
  })

  it.each([
    ['prompts/list', '{"prompts":[]}', '{"prompts":[{"name":"g"}]}'],
    ['resources/list', '{"resources":[]}', '{"resources":[{"uri":"ghost:///g","name":"g"}]}'],
    [
      'resources/templates/list',
      '{"resourceTemplates":[]}',
      '{"resourceTemplates":[{"uriTemplate":"ghost:///g","name":"g"}]}',
    ],
    ['tools/call', '{"tools":[]}', '{"tools":[]}'],
    ['tools/list', '{"tools":{}}', '{"tools":{}}'],
    ['tools/list', '{}', '{}'],
  ])('as %s answers it', async (method, result, wanted) => {
    const ctx = new Context({ call: listCall(method) })
    expect(await of({ add: [GHOST] }, result, ctx)).toBe(resultJson(wanted))
  })

  it('of resources is known by URIs too', async () => {
    const ctx = new Context({ call: listCall('resources/list') })
    const list = '{"resources":[{"uri":"file:///a","name":"x"},{"uri":"db://b"}]}'
    expect(await of({ hide: 'file:*' }, list, ctx)).toBe(
      resultJson('{"resources":[{"uri":"db://b"}]}'),
    )
  })

  it('is not there in an error, or without a call', async () => {
    const error = frame('body', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', true)
    const ctx = new Context({ call: listCall() })
    const fault = catalog.create({ hide: '*', cursor: 'invalid', stale: true })
    expect(await texts(fault.onResponse!(ctx, frames(error)))).toEqual(await texts(frames(error)))
    expect(ctx.effects + ctx.limited).toBe(0)
    expect(await of({ hide: '*' }, TOOLS, new Context({ call: undefined }))).toBe(resultJson(TOOLS))
  })
})

describe('a stale list', () => {
  const NEW = '{"tools":[]}'

  it('is the first one, to the same session and for the same page', async () => {
    const first = new Context({ call: listCall(), session: 's' })
    expect(await of({ stale: true }, TOOLS, first)).toBe(resultJson(TOOLS))
    expect(first.limited).toBe(1)
    const next = (call = listCall(), session = 's', headers = {}): Context =>
      new Context({ call, session, headers, after: first })
    expect(await of({ stale: true }, NEW, next())).toBe(resultJson(TOOLS))
    expect(await of({ stale: true }, NEW, next(listCall(), 't'))).toBe(resultJson(NEW))
    expect(await of({ stale: true }, NEW, next(listCall(), 's', { authorization: 'x' }))).toBe(
      resultJson(NEW),
    )
    expect(await of({ stale: true }, NEW, next(listCall('tools/list', { cursor: 'a' })))).toBe(
      resultJson(NEW),
    )
    const same = next()
    expect(await of({ stale: true }, TOOLS, same)).toBe(resultJson(TOOLS))
    expect(same.limited).toBe(1)
  })

  it('is forgotten at its age', async () => {
    const first = new Context({ call: listCall(), session: 's' })
    await of({ stale: 1000 }, TOOLS, first)
    const at = (time: number): Context => {
      const ctx = new Context({ call: listCall(), session: 's', after: first })
      ctx.time = time
      return ctx
    }
    expect(await of({ stale: 1000 }, NEW, at(999))).toBe(resultJson(TOOLS))
    expect(await of({ stale: 1000 }, NEW, at(1000))).toBe(resultJson(NEW))
    expect(await of({ stale: 1000 }, TOOLS, at(1999))).toBe(resultJson(NEW))
  })

  it('is changed by what else is asked for', async () => {
    const first = new Context({ call: listCall(), session: 's' })
    const config = { stale: true, hide: 'a_*' }
    const hidden = resultJson(`{"tools":[${B}] , "x":1}`)
    expect(await of(config, TOOLS, first)).toBe(hidden)
    const second = new Context({ call: listCall(), session: 's', after: first })
    expect(await of(config, NEW, second)).toBe(hidden)
  })
})

describe('a cursor', () => {
  it('that is bad is refused', async () => {
    const fault = catalog.create({ cursor: 'invalid' })
    const ctx = new Context({ call: listCall('tools/list', { cursor: 'squall:no-such-page' }) })
    expect(await fault.onRequest!(ctx)).toMatchObject({ kind: 'respond', reply: { code: -32602 } })
    expect(ctx.effects).toBe(1)
    const other = new Context({ call: listCall('tools/list', { cursor: 'p2' }) })
    expect(await fault.onRequest!(other)).toEqual({ kind: 'continue' })
  })

  it('that loops leads back to where it began', async () => {
    const fault = catalog.create({ cursor: 'loop' })
    const call = listCall('tools/list', { cursor: 'squall:first-page' })
    const verdict = await fault.onRequest!(new Context({ call }))
    if (verdict.kind !== 'edit') throw new TypeError(verdict.kind)
    expect(await verdict.edit('{"params":{ "cursor":"squall:first-page" ,"a":1},"id":1}')).toBe(
      '{"params":{ "a":1},"id":1}',
    )
    expect(await verdict.edit('{"id":1}')).toBeUndefined()
    const ctx = new Context({ call: listCall('tools/list', { cursor: 'p2' }) })
    expect(await fault.onRequest!(ctx)).toEqual({ kind: 'continue' })
    expect(await of({ cursor: 'loop' }, '{"nextCursor":"p3"}', ctx)).toBe(
      resultJson('{"nextCursor":"p2"}'),
    )
  })

  it('is no matter for the request otherwise', () => {
    expect(catalog.create({ hide: 'a' })).not.toHaveProperty('onRequest')
  })
})

describe('news of a changed list', () => {
  const note = (method: string) => {
    const data = { jsonrpc: '2.0', method }
    const message = { kind: 'notification', method, params: undefined } as const
    return { ...frame('event', `data: ${JSON.stringify(data)}\n\n`), message }
  }
  const CHANGED = note('notifications/tools/list_changed')
  const OTHER = note('notifications/message')

  it.each([
    ['tools/call', 'tools'],
    ['prompts/list', 'prompts'],
    ['resources/templates/list', 'resources'],
  ])('comes before the response to %s', async (method, kind) => {
    const ctx = new Context({ call: listCall(method) })
    const response = resultFrame('{}', 'event')
    const all = catalog.create({ notify: 'spurious' }).onResponse!(ctx, frames(OTHER, response))
    const [first, second, third] = await texts(all)
    expect([first, third]).toEqual(await texts(frames(OTHER, response)))
    expect(second).toBe(
      `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/${kind}/list_changed"}\n\n`,
    )
    expect(ctx.effects).toBe(1)
  })

  it('is taken out', async () => {
    const ctx = new Context()
    const response = resultFrame('{}', 'event')
    const all = catalog.create({ notify: 'suppress' }).onResponse!(
      ctx,
      frames(CHANGED, OTHER, response),
    )
    expect(await texts(all)).toEqual(await texts(frames(OTHER, response)))
    expect(ctx.effects).toBe(1)
  })

  it('is nothing for a response that is no stream', async () => {
    expect(await of({ notify: 'spurious' }, TOOLS)).toBe(resultJson(TOOLS))
  })
})

describe('catalog', () => {
  it('needs a parameter', () => {
    expect(catalog.check!({})).toMatchObject([{ path: [] }])
    expect(catalog.check!({ cursor: 'invalid' })).toEqual([])
    expect(catalog.check!({ stale: false })).toEqual([])
  })
})
