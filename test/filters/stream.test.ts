import { describe, expect, it } from 'vitest'
import type { Frame } from '../../src/filters/fault.ts'
import { stream } from '../../src/filters/stream.ts'
import { Context, frames, texts, TOOL_CALL } from './context.ts'
import { RESPONSE, body, event, PRIMER, progress, QUESTION } from './event-frames.ts'
import { findings, parameters } from './fault-text.ts'

type Config = Parameters<typeof stream.create>[0]

const P1 = progress(1)
const P2 = progress(2)
const ALL = [PRIMER, P1, QUESTION, P2, RESPONSE]

/**
 * Returns the frames that leave, by their index in the list, and the number of reported effects.
 */
async function through(config: Config, list: readonly Frame[], ctx: Context = new Context()) {
  const out = stream.create(config).onResponse!(ctx, frames(...list))
  const sent = await texts(out)
  const known = list.map(({ raw }) => Buffer.from(raw).toString())
  return [sent.map((text) => known.indexOf(text)).join(' '), ctx.effects]
}

describe('stream', () => {
  it.each<[Config, string, number]>([
    [{ drop: 'last' }, '0 1 2 3', 1],
    [{ drop: 'notifications' }, '0 2 4', 2],
    [{ drop: 'all' }, '0', 4],
    [{ drop: 2 }, '0 1 3 4', 1],
    [{ drop: 5 }, '0 1 2 3 4', 0],
    [{ duplicate: 'last' }, '0 1 2 3 4 4', 1],
    [{ duplicate: 'notifications' }, '0 1 1 2 3 3 4', 2],
    [{ duplicate: 1 }, '0 1 1 2 3 4', 1],
    [{ reorder: 'last' }, '0 1 2 4 3', 1],
    [{ reorder: 'notifications' }, '0 2 1 4 3', 2],
    [{ reorder: 'all' }, '0 2 1 4 3', 2],
    [{ reorder: 1 }, '0 2 1 3 4', 1],
    [{ reorder: 4 }, '0 1 2 3 4', 0],
    [{ close: 'last' }, '0 1 2 3', 1],
    [{ close: 'notifications' }, '0', 1],
    [{ close: 3 }, '0 1 2', 1],
    [{ close: 9 }, '0 1 2 3 4', 0],
  ])('of %j sends events %s', async (config, order, effects) => {
    expect(await through(config, ALL)).toEqual([order, effects])
  })

  it.each<Config>([{ drop: 'all' }, { duplicate: 'all' }, { reorder: 'all' }, { close: 'all' }])(
    'of %j leaves a body alone',
    async (config) => {
      expect(await through(config, [body('{"jsonrpc":"2.0","id":1,"result":{}}')])).toEqual([
        '0',
        0,
      ])
    },
  )

  it('closes the stream of a call once, so that a client which resumes it gets its response', async () => {
    const fault = stream.create({ close: 'last' })
    const sent = async (ctx: Context): Promise<number> =>
      (await texts(fault.onResponse!(ctx, frames(...ALL)))).length
    const [first, second] = [new Context(), new Context()]
    expect([await sent(first), first.effects, first.limited]).toEqual([4, 1, 0])
    expect([await sent(second), second.effects, second.limited]).toEqual([5, 0, 1])
    const other = new Context({ call: { ...TOOL_CALL, id: 2 } })
    expect([await sent(other), other.effects]).toEqual([4, 1])
  })

  it('cannot send a response ahead of nothing', async () => {
    expect(await through({ reorder: 'last' }, [PRIMER, RESPONSE])).toEqual(['0 1', 0])
    expect(await through({ reorder: 'all' }, [P1])).toEqual(['0', 0])
    expect(await through({ reorder: 'last' }, [P1, PRIMER, RESPONSE])).toEqual(['0 1 2', 0])
  })

  it('lets go of an event that it holds when the rule is taken back', async () => {
    const ctx = new Context()
    let send: (frame: Frame) => void = () => undefined
    const source = (async function* () {
      yield P1
      yield await new Promise<Frame>((resolve) => (send = resolve))
      yield RESPONSE
    })()
    const fault = stream.create({ reorder: 'all' })
    const out = fault.onResponse!(ctx, source)[Symbol.asyncIterator]()
    const first = out.next()
    await new Promise((resolve) => setImmediate(resolve))
    ctx.retire()
    expect((await first).value).toBe(P1)
    send(P2)
    expect((await out.next()).value).toBe(P2)
    expect((await out.next()).value).toBe(RESPONSE)
    expect((await out.next()).done).toBe(true)
    expect(ctx.effects).toBe(0)
  })
})

describe('a wrong id', () => {
  const changed = async (config: Config, frame: Frame, call = TOOL_CALL): Promise<string> => {
    const [text] = await texts(
      stream.create(config).onResponse!(new Context({ call }), frames(frame)),
    )
    return text!
  }

  it.each([
    [7, 'other', '-8'],
    [0, 'other', '-1'],
    [-8, 'other', '7'],
    ['a"b', 'other', String.raw`"a\"b~"`],
    [7, 'type', '"7"'],
    ['7', 'type', '7'],
    ['007', 'type', '"007~"'],
    ['', 'type', '"~"'],
    ['Infinity', 'type', '"Infinity~"'],
  ] as const)('for %j, of the kind %s, is %s', async (id, wrongId, wrong) => {
    const written = JSON.stringify(id)
    const text = (put: string): string => `{ "result":{"n":1.0},"id" : ${put} ,"jsonrpc":"2.0"}`
    expect(await changed({ wrongId }, body(text(written)))).toBe(text(wrong))
    const raw = Buffer.from(`id: 5\r\ndata:${text(written)}\r\nevent: message\r\n\r\n`)
    const frame = { ...event({ id, result: {} }), raw }
    expect(await changed({ wrongId }, frame)).toBe(
      `id: 5\r\ndata:${text(wrong)}\r\nevent: message\r\n\r\n`,
    )
  })

  it('is given to the response alone, and once', async () => {
    const ctx = new Context()
    const fault = stream.create({ wrongId: 'other' })
    const sent = await texts(fault.onResponse!(ctx, frames(...ALL)))
    const before = ALL.map(({ raw }) => Buffer.from(raw).toString())
    expect(sent.slice(0, 4)).toEqual(before.slice(0, 4))
    expect(sent[4]).toBe(before[4]!.replace('"id":1', '"id":-2'))
    expect(ctx.effects).toBe(1)
  })

  it('cannot be given to an error that names no call', async () => {
    const ctx = new Context()
    const error = event({ id: null, error: { code: 1, message: '' } })
    const sent = await texts(stream.create({ wrongId: 'other' }).onResponse!(ctx, frames(error)))
    expect(sent).toEqual([Buffer.from(error.raw).toString()])
    expect(ctx.effects).toBe(0)
  })
})

describe('events in pieces', () => {
  const head = { status: 200, reason: 'OK', headers: ['Content-Type', 'text/event-stream'] }

  async function pieces(config: Config, chunks: readonly (string | Buffer)[], headers?: string[]) {
    const ctx = new Context()
    const source = (async function* () {
      for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk))
    })()
    const output = await stream.create(config).onOutput!(ctx, {
      head: headers === undefined ? head : { ...head, headers },
      body: source,
    })
    const sent: Buffer[] = []
    for await (const piece of output.body) if (piece.length > 0) sent.push(Buffer.from(piece))
    expect(Buffer.concat(sent)).toEqual(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))))
    return { sizes: sent.map(({ length }) => length), sleeps: ctx.sleeps, effects: ctx.effects }
  }

  const text = (frame: Frame): string => Buffer.from(frame.raw).toString()

  it('are the same bytes, with pauses between them', async () => {
    const { sizes, sleeps, effects } = await pieces({ split: 'last', pieces: 4, pause: 50 }, [
      text(P1),
      text(RESPONSE),
    ])
    expect(sizes).toHaveLength(5)
    expect(sizes[0]).toBe(P1.raw.length)
    expect(sleeps).toEqual([50, 50, 50])
    expect(effects).toBe(3)
  })

  it('are found whatever the chunks are, and what ends without a blank line passes', async () => {
    const whole = text(P1) + ': hi\n\n' + text(RESPONSE) + 'data: {"half'
    const { sizes, sleeps } = await pieces({ split: 'all' }, whole.split(''))
    expect(sizes).toHaveLength(3 + 1 + 3 + 1)
    expect(sleeps).toEqual([100, 100, 100, 100])
  })

  it('are no matter for JSON, nor for what is coded', async () => {
    const json = await pieces(
      { split: 'all' },
      [text(RESPONSE)],
      ['content-type', 'application/json'],
    )
    expect(json).toEqual({ sizes: [RESPONSE.raw.length], sleeps: [], effects: 0 })
    const coded = ['content-type', 'text/event-stream', 'Content-Encoding', 'gzip']
    expect((await pieces({ split: 'all' }, [text(RESPONSE)], coded)).effects).toBe(0)
  })
})

describe('stream in a file', () => {
  it.each([
    ['{ drop: last }', { drop: 'last' }],
    ['{ duplicate: 3 }', { duplicate: 3 }],
    ['{ reorder: notifications }', { reorder: 'notifications' }],
    ['{ wrongId: type }', { wrongId: 'type' }],
    ['{ split: all, pieces: 5, pause: 1s }', { split: 'all', pieces: 5, pause: 1000 }],
    ['{ close: all }', { close: 'all' }],
  ])('%s is read', (text, config) => {
    expect(parameters('stream', text)).toEqual(config)
  })

  it.each([
    ['{}', ['3:18 conflict ']],
    ['{ drop: first }', ['3:34 invalid_value .drop']],
    ['{ drop: 0 }', ['3:34 out_of_range .drop']],
    ['{ drop: { events: last } }', ['3:34 wrong_type .drop']],
    ['{ drop: last, close: last }', ['3:40 conflict .close']],
    ['{ drop: last, pieces: 3, pause: 1s }', ['3:40 conflict .pieces', '3:51 conflict .pause']],
    ['{ split: all, pieces: 1 }', ['3:48 out_of_range .pieces']],
    ['{ wrongId: last }', ['3:37 invalid_value .wrongId']],
    ['{ lose: last }', ['3:28 unknown_key .lose']],
  ])('%s is refused', (text, places) => {
    expect(findings('stream', text)).toEqual(places)
  })
})
