import { describe, expect, it } from 'vitest'
import { delay } from '../../src/filters/delay.ts'
import { parameterProblems } from '../../src/filters/lib/exclusive.ts'
import { Context, frame, frames, texts } from './context.ts'

const MAX = 3_600_000

describe('delay', () => {
  it('at the request makes the upstream wait for the call', async () => {
    const ctx = new Context()
    const fault = delay.create({ fixed: 2000, max: MAX, at: 'request' })
    expect(Object.keys(fault)).toEqual(['onRequest'])
    expect(await fault.onRequest!(ctx)).toEqual({ kind: 'continue' })
    expect(ctx.sleeps).toEqual([2000])
    expect(ctx.effects).toBe(1)
  })

  it('at the response holds back the frame that ends the call, and no other', async () => {
    const ctx = new Context()
    const fault = delay.create({ fixed: 2000, max: MAX, at: 'response' })
    expect(Object.keys(fault)).toEqual(['onLast', 'onResponse'])
    const slept: [string, number][] = []
    const through = fault.onResponse!(
      ctx,
      frames(frame('event', 'progress'), frame('event', 'result', true), frame('event', 'more')),
    )
    for await (const each of through) {
      slept.push([Buffer.from(each.raw).toString(), ctx.sleeps.length])
    }
    expect(slept).toEqual([
      ['progress', 0],
      ['result', 1],
      ['more', 1],
    ])
    expect(ctx.effects).toBe(1)
  })

  it('at each event leaves a whole body alone', async () => {
    const ctx = new Context()
    const fault = delay.create({ fixed: 5, max: MAX, at: 'event' })
    const list = [frame('event', 'a'), frame('event', 'b', true)]
    expect(await texts(fault.onResponse!(ctx, frames(...list)))).toEqual(['a', 'b'])
    expect(ctx.sleeps).toEqual([5, 5])
    const other = new Context()
    expect(await texts(fault.onResponse!(other, frames(frame('body', 'x', true))))).toEqual(['x'])
    expect(other.effects).toBe(0)
  })

  it('ends when the client leaves while it waits', async () => {
    const ctx = new Context({ signal: AbortSignal.abort(new Error('gone')) })
    const request = delay.create({ fixed: 5, max: MAX, at: 'request' })
    await expect(request.onRequest!(ctx)).rejects.toThrow('gone')
    let closed = false
    async function* endless() {
      try {
        for (;;) yield await Promise.resolve(frame('event', 'a', true))
      } finally {
        closed = true
      }
    }
    const response = delay.create({ fixed: 5, max: MAX, at: 'response' })
    await expect(texts(response.onResponse!(ctx, endless()))).rejects.toThrow('gone')
    expect(closed).toBe(true)
  })

  it('draws anew for each event', async () => {
    const ctx = new Context({ draws: [0, 1, 0.5] })
    const fault = delay.create({ uniform: { min: 10, max: 20 }, max: MAX, at: 'event' })
    await texts(
      fault.onResponse!(ctx, frames(frame('event', 'a'), frame('event', 'b'), frame('event', 'c'))),
    )
    expect(ctx.sleeps).toEqual([10, 20, 15])
  })

  it.each([
    [{}, ''],
    [{ fixed: 1, exponential: { mean: 1 } }, 'exponential'],
    [{ exponential: { mean: 1 }, jitter: 1 }, 'jitter'],
    [{ uniform: { min: 2, max: 1 } }, 'uniform.min'],
    [{ fixed: MAX + 1 }, 'fixed'],
    [{ pareto: { scale: MAX + 1, shape: 1 } }, 'pareto'],
    [{ fixed: 1, period: 1 }, 'period'],
    [{ fixed: 1, jitter: 1, period: 0 }, 'period'],
  ])('of %j is refused', (parameters, path) => {
    const problems = parameterProblems(delay, { max: MAX, at: 'request', ...parameters })
    expect(problems.map((problem) => problem.path.join('.'))).toEqual([path])
  })

  it('of one distribution is in order', () => {
    expect(parameterProblems(delay, { fixed: 1, jitter: 1, max: MAX, at: 'request' })).toEqual([])
  })
})
