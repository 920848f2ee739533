import { describe, expect, it } from 'vitest'
import { CutResponse } from '../../src/filters/lib/cut-response.ts'
import { reset } from '../../src/filters/reset.ts'
import { Context } from './context.ts'
import { responseEvent, chunksOf, Forbidden, jsonLines, output, SSE_LINES } from './outputs.ts'

const STREAM = ['data: {"method":"a"}\n\n', responseEvent(1)]

/** Returns the bytes before the cut, and the way of the cut. */
async function cutOf(body: AsyncIterable<Uint8Array>): Promise<[string, unknown]> {
  let text = ''
  try {
    for await (const chunk of body) text += Buffer.from(chunk).toString()
  } catch (error) {
    return [text, error instanceof CutResponse ? error.how : error]
  }
  return [text, undefined]
}

describe('reset', () => {
  it.each([
    [{ at: 'request', how: 'rst' }, 'onRequest', { kind: 'reset', how: 'rst' }],
    [{ at: 'response', how: 'fin' }, 'beforeResponse', { kind: 'reset', how: 'fin' }],
    [
      { at: 'request', how: 'rst', refuse: 5000 },
      'onRequest',
      { kind: 'reset', how: 'rst', refuse: 5000 },
    ],
  ] as const)('of %j has the verdict at once', async (config, hook, verdict) => {
    const ctx = new Context()
    const fault = reset.create(config)
    expect(Object.keys(fault)).toEqual([hook])
    expect(await fault[hook]!(ctx)).toEqual(verdict)
    expect(ctx.effects).toBe(1)
    expect(ctx.reached).toEqual([])
  })

  it.each([
    [undefined, SSE_LINES, STREAM, STREAM[0]],
    [{ events: 1 }, SSE_LINES, STREAM, STREAM[0]],
    [{ events: 2 }, SSE_LINES, STREAM, STREAM.join('')],
    [{ bytes: 0 }, jsonLines(4), ['abcd'], ''],
    [{ bytes: 3 }, jsonLines(4), ['ab', 'cd'], 'abc'],
    [{ bytes: 4 }, jsonLines(4), ['ab', 'cd'], 'abcd'],
  ])('in the response after %j cuts it there', async (after, lines, chunks, before) => {
    const ctx = new Context()
    const fault = reset.create({ at: 'stream', how: 'fin', refuse: 70, ...(after && { after }) })
    expect(Object.keys(fault)).toEqual(['onOutput'])
    const app = output(lines, chunks)
    const out = await fault.onOutput!(ctx, app)
    expect(out.head).toBe(app.head)
    expect(ctx.effects).toBe(0)
    expect(await cutOf(out.body)).toEqual([before, 'fin'])
    expect([ctx.effects, ctx.reached, ctx.sleeps]).toEqual([1, ['refuse 70'], []])
  })

  it.each([
    [undefined, jsonLines(4), ['abcd']],
    [{ events: 3 }, SSE_LINES, STREAM],
    [{ bytes: 5 }, jsonLines(4), ['ab', 'cd']],
  ])('does not act where the response has no position after %j', async (after, lines, chunks) => {
    const ctx = new Context()
    const fault = reset.create({ at: 'stream', how: 'rst', ...(after && { after }) })
    const out = await fault.onOutput!(ctx, output(lines, chunks))
    expect(await chunksOf(out)).toEqual(chunks)
    expect(ctx.effects).toBe(0)
  })

  it('gives what is out a moment to arrive before a reset', async () => {
    const ctx = new Context()
    const fault = reset.create({ at: 'stream', how: 'rst', after: { bytes: 1 } })
    const out = await fault.onOutput!(ctx, output(jsonLines(4), ['abcd']))
    expect(await cutOf(out.body)).toEqual(['a', 'rst'])
    expect(ctx.sleeps).toEqual([20])
  })

  it('lets a response pass when it may not act', async () => {
    const ctx = new Forbidden()
    const fault = reset.create({ at: 'stream', how: 'rst', refuse: 1, after: { bytes: 1 } })
    const out = await fault.onOutput!(ctx, output(jsonLines(4), ['abcd']))
    expect(await cutOf(out.body)).toEqual(['abcd', undefined])
    expect(ctx.reached).toEqual([])
  })

  it.each([
    [{ after: { bytes: 1 } }, ['after']],
    [{ at: 'stream', after: {} }, ['after']],
    [{ at: 'stream', after: { bytes: 1, events: 2 } }, ['after.events']],
    [{ refuse: 3_600_001 }, ['refuse']],
    [{ refuse: 3_600_000 }, []],
    [{ at: 'connect' }, ['at']],
    [{ at: 'connect', refuse: 1 }, []],
    [{ at: 'connect', refuse: 3_600_001 }, ['refuse']],
    [{}, []],
  ] as const)('of %j has the problems %j', (parameters, paths) => {
    const problems = reset.check!({ at: 'request', how: 'rst', ...parameters })
    expect(problems.map(({ path }) => path.join('.'))).toEqual(paths)
  })
})
