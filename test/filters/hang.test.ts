import { describe, expect, it } from 'vitest'
import { hang } from '../../src/filters/hang.ts'
import { Context } from './context.ts'
import {
  responseEvent,
  chunksOf,
  Forbidden,
  jsonLines,
  output,
  settled,
  Sleeper,
  SSE_LINES,
} from './outputs.ts'

type Config = Parameters<typeof hang.create>[0]

function made(config: Partial<Config> = {}) {
  return hang.create({ at: 'request', keepAlive: false, ...config })
}

const PROGRESS = ': keep\n\nevent: message\ndata: {"jsonrpc":"2.0","method":"a"}\n\n'
const TEXT = PROGRESS + responseEvent(1) + 'data: more\n\n'

/** The bytes of a hanging response so far, and all of them in the end. */
function reading(body: AsyncIterable<Uint8Array>) {
  const seen = { text: '', ended: false }
  const done = (async () => {
    for await (const chunk of body) seen.text += Buffer.from(chunk).toString()
    seen.ended = true
  })()
  return { seen, done }
}

describe('hang', () => {
  it('at the request is silence, and says so', async () => {
    const ctx = new Context()
    expect(await made().onRequest!(ctx)).toEqual({ kind: 'hang' })
    expect(ctx.effects).toBe(1)
    expect(Object.keys(made())).toEqual(['onRequest'])
  })

  it('for a while lets the call go on', async () => {
    const ctx = new Context()
    expect(await made({ for: 3000 }).onRequest!(ctx)).toEqual({ kind: 'continue' })
    expect(ctx.sleeps).toEqual([3000])
    expect(ctx.effects).toBe(1)
  })

  it('at the headers lets the head out, and the body when the silence ends', async () => {
    const ctx = new Sleeper()
    const fault = made({ at: 'headers' })
    expect(Object.keys(fault)).toEqual(['onOutput'])
    const app = output(jsonLines(5), ['abc', 'de'])
    const out = await fault.onOutput!(ctx, app)
    expect(out.head).toBe(app.head)
    expect(ctx.effects).toBe(1)
    const { seen, done } = reading(out.body)
    await settled()
    expect(seen.text).toBe('')
    expect(ctx.sleeps).toEqual([Infinity])
    ctx.pending[0]!.wake()
    await done
    expect(seen.text).toBe('abcde')
  })

  it('takes in what the upstream sends meanwhile, up to a bound', async () => {
    const ctx = new Sleeper()
    const taken: string[] = []
    const chunk = 'x'.repeat(300_000)
    const app = output(jsonLines(3_000_000), Array<string>(10).fill(chunk), taken)
    const out = await made({ at: 'headers' }).onOutput!(ctx, app)
    const { seen, done } = reading(out.body)
    await settled()
    expect(taken).toHaveLength(4)
    ctx.pending[0]!.wake()
    await done
    expect(seen.text).toHaveLength(3_000_000)
  })

  it.each([
    ['before the response', {}, PROGRESS],
    ['after an event', { after: { events: 1 } }, PROGRESS],
    ['after two events', { after: { events: 2 } }, PROGRESS + responseEvent(1)],
    ['before everything', { after: { events: 0 } }, ''],
    ['after bytes', { after: { bytes: 3 } }, ': k'],
  ])('in a stream is silent %s, and loses no byte', async (_, config, before) => {
    for (const size of [1, 7, 1000]) {
      const ctx = new Sleeper()
      const app = output(SSE_LINES, TEXT.match(new RegExp(`[^]{1,${size}}`, 'g'))!)
      const out = await made({ at: 'event', for: 9, ...config }).onOutput!(ctx, app)
      expect(ctx.effects).toBe(0)
      const { seen, done } = reading(out.body)
      await settled()
      expect(seen).toEqual({ text: before, ended: false })
      expect([ctx.effects, ctx.sleeps]).toEqual([1, [9]])
      ctx.pending[0]!.wake()
      await done
      expect(seen.text).toBe(TEXT)
      expect(ctx.effects).toBe(1)
    }
  })

  it('continues when faults are to stop', async () => {
    const ctx = new Sleeper()
    const out = await made({ at: 'event' }).onOutput!(ctx, output(SSE_LINES, [TEXT]))
    const { seen, done } = reading(out.body)
    await settled()
    ctx.pending[0]!.stop()
    await done
    expect(seen.text).toBe(TEXT)
  })

  it('lets a response pass when it may not act', async () => {
    const out = await made({ at: 'event' }).onOutput!(new Forbidden(), output(SSE_LINES, [TEXT]))
    expect((await chunksOf(out)).join('')).toBe(TEXT)
  })

  it.each([
    ['a JSON response has no events', jsonLines(3), {}],
    ['a response is too short', jsonLines(3), { after: { bytes: 4 } }],
    ['a stream has too few events', SSE_LINES, { after: { events: 4 } }],
    ['no event answers this call', SSE_LINES, {}],
    ['a stream cannot be read', [...SSE_LINES, 'Content-Encoding', 'br'], {}],
  ])('does not act where %s', async (_, lines, config) => {
    const ctx = new Context()
    const text = lines === SSE_LINES ? responseEvent(2) : 'abc'
    const out = await made({ at: 'event', ...config }).onOutput!(ctx, output(lines, [text]))
    expect(await chunksOf(out)).toEqual([text])
    expect([ctx.effects, ctx.sleeps]).toEqual([0, []])
  })

  it('keeps a stream alive with comments, which a declared length would not allow', async () => {
    const ctx = new Sleeper()
    const config = { at: 'headers', keepAlive: true, for: 40_000 } as const
    const lines = [...SSE_LINES, 'Content-Length', '9', 'X-A', 'b']
    const out = await made(config).onOutput!(ctx, output(lines, ['data: 1\n\n']))
    expect(out.head.headers).toEqual([...SSE_LINES, 'X-A', 'b'])
    const { seen, done } = reading(out.body)
    await settled()
    expect(ctx.sleeps).toEqual([40_000, 15_000])
    ctx.pending[1]!.wake()
    await settled()
    expect(seen.text).toBe(': keep-alive\n\n')
    ctx.pending[2]!.wake()
    await settled()
    expect(seen.text).toBe(': keep-alive\n\n'.repeat(2))
    expect(ctx.sleeps).toEqual([40_000, 15_000, 15_000])
    ctx.pending[0]!.wake()
    await done
    expect(seen.text).toBe(': keep-alive\n\n'.repeat(2) + 'data: 1\n\n')
  })

  it('has nothing to keep alive in a JSON response', async () => {
    const app = output(jsonLines(2), ['{}'])
    const out = await made({ at: 'headers', keepAlive: true }).onOutput!(new Context(), app)
    expect(out.head).toBe(app.head)
    expect(await chunksOf(out)).toEqual(['{}'])
  })

  it.each([3, 99])('lets go of the upstream when the client stops reading (%i)', async (place) => {
    let closed = false
    async function* endless() {
      try {
        for (;;) yield await Promise.resolve(Buffer.from('data: 1\n\n'))
      } finally {
        closed = true
      }
    }
    const head = { status: 200, reason: 'OK', headers: SSE_LINES }
    const fault = made({ at: 'event', after: { events: place } })
    const out = await fault.onOutput!(new Context(), { head, body: endless() })
    let events = 0
    for await (const _ of out.body) if (++events === 9) break
    await settled()
    expect(closed).toBe(true)
  })

  it('sends chunks as they came where its position is between two of them', async () => {
    const fault = made({ at: 'event', after: { bytes: 3 } })
    const out = await fault.onOutput!(new Context(), output(jsonLines(5), ['abc', 'de']))
    expect(await chunksOf(out)).toEqual(['abc', 'de'])
  })

  it.each([
    [{ after: { bytes: 1 } }, ['after']],
    [{ at: 'event', after: {} }, ['after']],
    [{ at: 'event', after: { bytes: 1, events: 1 } }, ['after.events']],
    [{ keepAlive: true }, ['keepAlive']],
    [{ at: 'event', keepAlive: true, after: { bytes: 1 } }, ['keepAlive']],
    [{ at: 'event', keepAlive: true, after: { events: 1 }, for: 1 }, []],
    [{}, []],
  ] as const)('of %j has the problems %j', (parameters, paths) => {
    const problems = hang.check!({ at: 'request', keepAlive: false, ...parameters })
    expect(problems.map(({ path }) => path.join('.'))).toEqual(paths)
  })
})
