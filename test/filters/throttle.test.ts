import { describe, expect, it } from 'vitest'
import { throttle } from '../../src/filters/throttle.ts'
import { Context } from './context.ts'
import { chunksOf, Clocked, jsonLines, output, settled, Sleeper, SSE_LINES } from './outputs.ts'

/** A context whose sleeps last longer than they were to. */
class Late extends Clocked {
  override readonly sleep = async (ms: number): Promise<void> => {
    this.sleeps.push(ms)
    this.time += ms + 7
    await Promise.resolve()
  }
}

describe('throttle', () => {
  it('lets the call wait for as long as its bytes take', async () => {
    const ctx = new Context({ requestBytes: 500 })
    const fault = throttle.create({ rate: 1000, direction: 'request' })
    expect(Object.keys(fault)).toEqual(['onRequest'])
    expect(await fault.onRequest!(ctx)).toEqual({ kind: 'continue' })
    expect([ctx.sleeps, ctx.effects]).toEqual([[500], 1])
    const empty = new Context()
    expect(await fault.onRequest!(empty)).toEqual({ kind: 'continue' })
    expect([empty.sleeps, empty.effects]).toEqual([[], 0])
  })

  it('slows both ways', () => {
    const fault = throttle.create({ rate: 1000, direction: 'both' })
    expect(Object.keys(fault)).toEqual(['onRequest', 'onOutput'])
  })

  it('sends a response piece by piece, each when the link has carried it', async () => {
    const ctx = new Clocked()
    const fault = throttle.create({ rate: 1000, direction: 'response', chunk: 100 })
    expect(Object.keys(fault)).toEqual(['onOutput'])
    const app = output(jsonLines(260), ['a'.repeat(250), 'b'.repeat(10)])
    const out = await fault.onOutput!(ctx, app)
    expect(out.head).toBe(app.head)
    expect(ctx.effects).toBe(1)
    expect((await chunksOf(out)).map(({ length }) => length)).toEqual([100, 100, 50, 10])
    expect(ctx.sleeps).toEqual([100, 100, 50, 10])
  })

  it('takes pieces of 50 ms by default, and never more than a thousand in a second', async () => {
    for (const [rate, chunk, length] of [
      [2000, undefined, 100],
      [5, undefined, 1],
      [1_000_000, 1, 1000],
    ] as const) {
      const fault = throttle.create({ rate, direction: 'response', ...(chunk && { chunk }) })
      const out = await fault.onOutput!(new Clocked(), output(jsonLines(4e3), ['a'.repeat(4000)]))
      expect((await chunksOf(out))[0]).toHaveLength(length)
    }
  })

  it('does not add up what its waits are late by', async () => {
    const ctx = new Late()
    const fault = throttle.create({ rate: 1000, direction: 'response', chunk: 10 })
    const out = await fault.onOutput!(ctx, output(jsonLines(1000), ['a'.repeat(1000)]))
    await chunksOf(out)
    expect(ctx.time).toBeGreaterThanOrEqual(1000)
    expect(ctx.time).toBeLessThan(1020)
  })

  it('does not save up the time in which nothing came', async () => {
    const ctx = new Clocked()
    async function* body() {
      yield Buffer.from('a'.repeat(100))
      await settled()
      ctx.time += 5000
      yield Buffer.from('b'.repeat(100))
    }
    const fault = throttle.create({ rate: 1000, direction: 'response', chunk: 100 })
    const head = { status: 200, reason: 'OK', headers: SSE_LINES }
    await chunksOf(await fault.onOutput!(ctx, { head, body: body() }))
    expect(ctx.sleeps).toEqual([100, 100])
  })

  it('takes in a bound of what the upstream sends, and lets it wait then', async () => {
    const ctx = new Sleeper()
    const taken: string[] = []
    const app = output(jsonLines(1e6), Array<string>(50).fill('x'.repeat(20_000)), taken)
    const out = await throttle.create({ rate: 1, direction: 'response' }).onOutput!(ctx, app)
    void out.body[Symbol.asyncIterator]().next()
    await settled()
    expect(taken.length).toBeLessThan(7)
  })

  it('sends the rest at once when the rule is taken back, or faults are to stop', async () => {
    const text = 'a'.repeat(100_000)
    for (const ctx of [new Context(), new Context({ signal: AbortSignal.abort() })]) {
      const fault = throttle.create({ rate: 100, direction: 'response' })
      const out = await fault.onOutput!(ctx, output(jsonLines(1e5), [text]))
      const chunks = await chunksOf(out)
      expect(chunks.join('')).toBe(text)
      expect(chunks.length).toBeLessThan(10)
    }
  })

  it.each([
    [{ rate: 0 }, ['rate']],
    [{ chunk: 0 }, ['chunk']],
    [{}, []],
  ])('of %j has the problems %j', (parameters, paths) => {
    const problems = throttle.check!({ rate: 1024, direction: 'response', ...parameters })
    expect(problems.map(({ path }) => path.join('.'))).toEqual(paths)
  })
})
