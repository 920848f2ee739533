import { describe, expect, it } from 'vitest'
import { replay } from '../../src/filters/replay.ts'
import type { Call } from '../../src/mcp/call.ts'
import { Context, frames, texts, TOOL_CALL } from './context.ts'
import { body, event, PRIMER, progress } from './event-frames.ts'
import { findings, parameters } from './fault-text.ts'

type Config = Parameters<typeof replay.create>[0]
type Options = ConstructorParameters<typeof Context>[0]

const BASE: Config = { age: 0, sameArguments: false, by: 'caller' }

const response = (id: string, n: unknown): string =>
  `{"id" : ${id},"result":{"n":${JSON.stringify(n)}},"jsonrpc":"2.0"}`

/** Calls of one rule, one after another. */
function rule(config: Partial<Config> = {}) {
  const fault = replay.create({ ...BASE, ...config })
  const first = new Context()
  return async (text: string, options: Options & { time?: number } = {}) => {
    const ctx = new Context({ after: first, session: 'own', ...options })
    ctx.time = options.time ?? 0
    const [sent] = await texts(fault.onResponse!(ctx, frames(body(text))))
    return [sent, ctx.effects, ctx.limited]
  }
}

const called = (params: unknown, more: Partial<Call> = {}): Options => ({
  call: { ...TOOL_CALL, params, ...more },
})

describe('replay', () => {
  it('gives the response before, with the id of this call as it is written', async () => {
    const ask = rule()
    expect(await ask(response('1', 'a'))).toEqual([response('1', 'a'), 0, 1])
    expect(await ask(response('"x"', 'b'))).toEqual([response('"x"', 'a'), 1, 0])
    const large = '10000000000000000001'
    expect(await ask(response(large, 'c'))).toEqual([response(large, 'b'), 1, 0])
  })

  it('leaves the event as it is but for its data', async () => {
    const fault = replay.create(BASE)
    const first = new Context({ session: 'own' })
    await texts(fault.onResponse!(first, frames(event({ id: 1, result: { n: 1 } }))))
    const ctx = new Context({ after: first, session: 'own' })
    const list = [PRIMER, progress(1), event({ id: 2, result: { n: 2 } }, '7')]
    const sent = await texts(fault.onResponse!(ctx, frames(...list)))
    expect(sent.slice(0, 2)).toEqual(list.slice(0, 2).map(({ raw }) => Buffer.from(raw).toString()))
    expect(sent[2]).toBe('id: 7\r\ndata: {"jsonrpc":"2.0","id":2,"result":{"n":1}}\n\n')
    expect([ctx.effects, ctx.limited]).toEqual([1, 0])
  })

  it('spares a call whose response before was the same', async () => {
    const ask = rule()
    await ask(response('1', 'a'))
    expect(await ask(response('1', 'a'))).toEqual([response('1', 'a'), 0, 1])
  })

  it.each([
    ['a failed tool', '"result":{"isError":true}'],
    ['an error', '"error":{"code":1,"message":""}'],
    ['a question back', '"result":{"resultType":"input_required"}'],
    ['a task', '"result":{"task":{"taskId":"1"}}'],
  ])('neither keeps nor replaces %s', async (_, part) => {
    const ask = rule()
    const text = `{"jsonrpc":"2.0","id":1,${part}}`
    await ask(response('1', 'a'))
    expect(await ask(text)).toEqual([text, 0, 1])
    expect((await ask(response('1', 'b')))[0]).toBe(response('1', 'a'))
  })

  it('gives no response to another tool, method or era', async () => {
    const ask = rule()
    await ask(response('1', 'a'), called({}))
    for (const other of [
      { name: 'b' },
      { method: 'prompts/get' },
      { protocolVersion: '2026-07-28' },
    ]) {
      expect((await ask(response('1', 'b'), called({}, other)))[2]).toBe(1)
    }
    expect((await ask(response('1', 'b'), called({ arguments: { x: 1 } })))[1]).toBe(1)
  })

  it('wants the same arguments, in any order, when configured so', async () => {
    const ask = rule({ sameArguments: true })
    await ask(
      response('1', 'a'),
      called({ arguments: { x: 1, y: 2 }, _meta: { progressToken: 1 } }),
    )
    expect((await ask(response('1', 'b'), called({ arguments: { x: 2, y: 2 } })))[2]).toBe(1)
    expect((await ask(response('1', 'c'), called({ arguments: { y: 2, x: 1 } })))[0]).toBe(
      response('1', 'a'),
    )
  })

  it.each([
    [{ session: 'a' }, { session: 'b' }],
    [{ headers: { authorization: 'Bearer a' } }, { headers: { authorization: 'Bearer b' } }],
  ])('gives no caller the response of another, unless configured so', async (one, other) => {
    const ask = rule()
    await ask(response('1', 'a'), one)
    expect((await ask(response('1', 'b'), other))[2]).toBe(1)
    const askAll = rule({ by: 'all' })
    await askAll(response('1', 'a'), one)
    expect((await askAll(response('1', 'b'), other))[0]).toBe(response('1', 'a'))
  })

  it('takes the newest that is old enough', async () => {
    const ask = rule({ age: 1600 })
    const got: unknown[] = []
    for (const time of [0, 100, 150, 1599, 1600, 1700, 3400]) {
      const [text] = await ask(response('1', time), { time })
      got.push((JSON.parse(text as string) as { result: { n: unknown } }).result.n)
    }
    // A response 50 ms after another is not kept: it is less than a step.
    expect(got).toEqual([0, 100, 150, 1599, 0, 100, 1700])
  })

  it('is idle where there is no call', async () => {
    const ask = rule()
    expect(await ask(response('1', 'a'), { call: undefined })).toEqual([response('1', 'a'), 0, 0])
  })
})

describe('replay in a file', () => {
  it.each([
    ['{}', BASE],
    [
      '{ age: 10m, sameArguments: true, by: all }',
      { age: 600_000, sameArguments: true, by: 'all' },
    ],
  ])('%s is read', (text, config) => {
    expect(parameters('replay', text)).toEqual(config)
  })

  it.each([
    ['{ age: 10 }', '3:33 wrong_type .age'],
    ['{ sameArguments: "yes" }', '3:43 wrong_type .sameArguments'],
    ['{ by: session }', '3:32 invalid_value .by'],
    ['{ old: 1s }', '3:28 unknown_key .old'],
  ])('%s is refused', (text, place) => {
    expect(findings('replay', text)).toEqual([place])
  })
})
