import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CutResponse } from '../../src/filters/lib/cut-response.ts'
import type { Output } from '../../src/filters/fault.ts'
import { truncate } from '../../src/filters/truncate.ts'
import { eventually } from '../support/eventually.ts'
import { Context, frame, frames, texts } from './context.ts'
import { resultFrame, resultJson } from './results.ts'

type Config = Parameters<typeof truncate.create>[0]

function output(text: string, headers: readonly string[], step = 4) {
  const state = { closed: false, taken: 0 }
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < text.length; at += step) {
        state.taken++
        yield await Promise.resolve(Buffer.from(text.slice(at, at + step)))
      }
    } finally {
      state.closed = true
    }
  }
  const whole: Output = { head: { status: 200, reason: 'OK', headers }, body: body() }
  return { whole, state }
}

/** Returns the truncated response: its headers, its text and its end. */
async function cut(config: Partial<Config>, whole: Output, ctx = new Context()) {
  const fault = truncate.create({ framing: 'broken', ...config })
  expect(Object.keys(fault)).toEqual(['changes', 'onOutput'])
  const after = await fault.onOutput!(ctx, whole)
  const early = ctx.effects
  let text = ''
  let end: string = 'end'
  try {
    for await (const chunk of after.body) text += Buffer.from(chunk).toString()
  } catch (error) {
    if (!(error instanceof CutResponse)) throw error
    end = error.how
  }
  return { text, end, headers: after.head.headers, effects: ctx.effects, early }
}

const TEN = '0123456789'
const LENGTH = ['Content-Type', 'application/json', 'content-length', '10']
const CHUNKED = ['Content-Type', 'application/json']
const STREAM = ['Content-Type', 'text/event-stream; charset=utf-8']

describe('a cut body', () => {
  it.each([
    [{ after: { bytes: 6 } }, '012345'],
    [{ after: { percent: 25 } }, '01'],
    [{ after: { bytes: 0 } }, ''],
    [{}, '01234'],
  ])('of %j ends in the middle, with its length announced', async (config, text) => {
    const { whole, state } = output(TEN, LENGTH)
    expect(await cut(config, whole)).toEqual({
      text,
      end: 'fin',
      headers: LENGTH,
      effects: 1,
      early: 1,
    })
    expect(state.closed).toBe(true)
  })

  it('ends in order where it is to be clean', async () => {
    const { whole } = output(TEN, LENGTH)
    const after = await cut({ after: { bytes: 6 }, framing: 'clean' }, whole)
    const headers = [...LENGTH.slice(0, 3), '6']
    expect(after).toEqual({ text: '012345', end: 'end', headers, effects: 1, early: 1 })
  })

  it.each([
    [{ after: { bytes: 10 } }, LENGTH],
    [{ after: { bytes: 11 } }, CHUNKED],
    [{ after: { percent: 100 } }, CHUNKED],
    [{ after: { events: 0 } }, LENGTH],
    [{ after: { bytes: 1 }, framing: 'clean' }, [...LENGTH, 'content-encoding', 'gzip']],
    [{ after: { bytes: 1 }, framing: 'clean' }, [...STREAM, 'content-encoding', 'gzip']],
    [{ after: { percent: 1 } }, [...STREAM, 'content-encoding', 'gzip']],
    [{ after: { events: 1 } }, [...STREAM, 'content-encoding', 'gzip']],
  ] as const)(
    'is not made by %j of what is too short or of another kind',
    async (config, headers) => {
      const { whole } = output(TEN, headers)
      expect(await cut(config, whole)).toEqual({
        text: TEN,
        end: 'end',
        headers,
        effects: 0,
        early: 0,
      })
    },
  )

  it.each([
    [{ bytes: 6 }, 'broken', '012345', 'fin'],
    [{ percent: 30 }, 'broken', '012', 'fin'],
    [{ percent: 30 }, 'clean', '012', 'end'],
    [{ bytes: 0 }, 'clean', '', 'end'],
  ] as const)(
    'without a length is held until its end is known: %j',
    async (after, framing, text, end) => {
      const { whole, state } = output(TEN, CHUNKED)
      const all = await cut({ after, framing }, whole)
      expect(all).toEqual({ text, end, headers: CHUNKED, effects: 1, early: 1 })
      expect(state.closed).toBe(true)
    },
  )

  it('of a size that is not held up passes whole, as it comes', async () => {
    const { whole, state } = output('x'.repeat(6 << 20), CHUNKED, 1 << 20)
    const after = await truncate.create({ framing: 'broken' }).onOutput!(new Context(), whole)
    expect(state.taken).toBeLessThan(6)
    let size = 0
    for await (const chunk of after.body) size += chunk.length
    expect(size).toBe(6 << 20)
    expect(state.closed).toBe(true)
  })
})

describe('a cut stream', () => {
  const RESPONSE = `data: ${resultJson('{}')}\n\n`
  const EVENTS = `id: 1\ndata: \n\n: hi\n\ndata: {"jsonrpc":"2.0","method":"a"}\n\n${RESPONSE}`
  const [primer, , note] = EVENTS.split(/(?<=\n\n)/) as [string, string, string]

  it.each([
    [{ events: 0 }, ''],
    [{ events: 1 }, primer],
    [{ events: 2 }, `${primer}: hi\n\n${note}`],
    [{ bytes: 6 }, 'id: 1\n'],
    [{ percent: 50 }, EVENTS.slice(0, EVENTS.length - Math.ceil(RESPONSE.length / 2))],
  ])('of %j loses its response', async (after, text) => {
    for (const [framing, end] of [
      ['broken', 'fin'],
      ['clean', 'end'],
    ] as const) {
      const { whole, state } = output(EVENTS, STREAM)
      const all = await cut({ after, framing }, whole)
      expect(all).toEqual({ text, end, headers: STREAM, effects: 1, early: 0 })
      await eventually(() =>
        state.closed || state.taken === 0 ? undefined : 'the upstream still sends',
      )
    }
  })

  it.each([{ events: 3 }, { events: 9 }, { percent: 100 }, { bytes: 10_000 }])(
    'is not made by %j when there is nothing to lose',
    async (after) => {
      const { whole } = output(EVENTS, STREAM)
      const all = await cut({ after }, whole)
      expect(all).toEqual({ text: EVENTS, end: 'end', headers: STREAM, effects: 0, early: 0 })
    },
  )
})

describe('less content', () => {
  async function less(content: Config['content'], result: string): Promise<string> {
    const ctx = new Context()
    const fault = truncate.create({ framing: 'broken', ...(content && { content }) })
    expect(Object.keys(fault)).toEqual(['changes', 'onLast', 'onResponse'])
    const [text = ''] = await texts(fault.onResponse!(ctx, frames(resultFrame(result))))
    expect(ctx.effects).toBe(text === resultJson(result) ? 0 : 1)
    expect(() => JSON.parse(text)).not.toThrow()
    return text
  }
  const text = (said: string): string => `{"type":"text","text":${JSON.stringify(said)}}`
  const both = (json: string): string =>
    `{"content":[${text(json)}], "structuredContent" : ${json}}`

  it.each([
    [
      { chars: 2 },
      `{"content":[${text('abc')},${text('é')}]}`,
      `{"content":[${text('ab')},${text('é')}]}`,
    ],
    [{ chars: 2 }, `{"content":[${text('a😀b')}]}`, `{"content":[${text('a😀')}]}`],
    [
      { chars: 1 },
      '{"content":[{"text":"\\ud83d\\ude00\\n"}]}',
      '{"content":[{"text":"\\ud83d\\ude00"}]}',
    ],
    [{ chars: 0 }, `{"contents":[${text('abc')}]}`, `{"contents":[${text('')}]}`],
    [{ chars: 1 }, both('{"n":1.50,"s":"abc"}'), both('{"n":1.50,"s":"a"}')],
    [{ items: 1 }, both('{"a":[1 , 2,3],"b":[[4,5],6]}'), both('{"a":[1],"b":[[4]]}')],
    [{ items: 0 }, both('{"a":[1]}'), '{"content":[], "structuredContent" : {"a":[]}}'],
    [{ items: 1 }, `{"content":[${text('[1,2]')},${text('b')}]}`, `{"content":[${text('[1]')}]}`],
    [
      { items: 1 },
      '{"tools":[{"a":[1,2]},{}],"nextCursor":"x"}',
      '{"tools":[{"a":[1,2]}],"nextCursor":"x"}',
    ],
    [{ items: 1 }, '{"completion":{"values":["a","b"]}}', '{"completion":{"values":["a"]}}'],
    [{ percent: 50 }, both('{"a":[1,2,3]}'), both('{"a":[1,2]}')],
    [{ percent: 50 }, `{"content":[${text('abcde')}]}`, `{"content":[${text('ab')}]}`],
    [
      { percent: 50 },
      `{"content":[${text('abcd')},${text('b')}]}`,
      `{"content":[${text('abcd')}]}`,
    ],
    [{ percent: 0 }, `{"content":[${text('abcd')}]}`, '{"content":[]}'],
    [
      { chars: 1 },
      `{"messages":[{"content":${text('ab')}},{"content":[${text('cd')}]}]}`,
      `{"messages":[{"content":${text('a')}},{"content":[${text('c')}]}]}`,
    ],
  ])('by %j', async (content, result, wanted) => {
    expect(await less(content, result)).toBe(resultJson(wanted))
  })

  it.each([
    [{ chars: 3 }, `{"content":[${text('abc')}]}`],
    [{ items: 3 }, both('[1,2,3]')],
    [{ percent: 100 }, both('[1,2,3]')],
    [{ percent: 50 }, '{"structuredContent":[1]}'],
    [{ chars: 1 }, '{"content":{"text":1}}'],
    [{ items: 0 }, '{}'],
  ])('by %j is nothing where there is not more', async (content, result) => {
    expect(await less(content, result)).toBe(resultJson(result))
  })

  it('is the same in structure and text as on their values', async () => {
    const short = (value: unknown, chars: number, items: number): unknown => {
      if (typeof value === 'string') return Array.from(value).slice(0, chars).join('')
      if (typeof value !== 'object' || value === null) return value
      if (Array.isArray(value))
        return value.slice(0, items).map((each) => short(each, chars, items))
      const members = Object.entries(value).map(([key, each]) => [key, short(each, chars, items)])
      return Object.fromEntries(members) as unknown
    }
    const json = fc
      .oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()))
      .map((value) => JSON.stringify(value))
    await fc.assert(
      fc.asyncProperty(json, fc.nat(5), async (written, n) => {
        for (const content of [{ chars: n }, { items: n }]) {
          const { result } = JSON.parse(await less(content, both(written))) as {
            result: { content: { text: string }[]; structuredContent: unknown }
          }
          const { chars = Infinity, items = Infinity } = content as {
            chars?: number
            items?: number
          }
          const wanted = short(JSON.parse(written), chars, items)
          expect(result.structuredContent).toEqual(wanted)
          if (items > 0) expect(JSON.parse(result.content[0]!.text)).toEqual(wanted)
          else expect(result.content).toEqual([])
        }
      }),
    )
  })

  it('leaves errors and what is no JSON alone', async () => {
    const fault = truncate.create({ framing: 'broken', content: { chars: 0 } })
    const ctx = new Context()
    const result = resultFrame('{"content":[{"text":"\uFFFD"}]}')
    // Written again, these bytes would be others.
    const raw = Buffer.from(
      Buffer.from(result.raw).toString('latin1').replace('\u00ef', '\u00ff'),
      'latin1',
    )
    const list = [
      frame('event', 'data: {}\n\n'),
      frame('body', '<p>text</p>', true),
      { ...result, raw },
    ]
    const before = await texts(frames(...list))
    expect(await texts(fault.onResponse!(ctx, frames(...list)))).toEqual(before)
    expect(ctx.effects).toBe(0)
  })
})

describe('truncate', () => {
  it.each([
    [{ after: {} }, 'after'],
    [{ content: {} }, 'content'],
    [{ after: { bytes: 1, events: 1 } }, 'after.events'],
    [{ content: { items: 1, percent: 1 } }, 'content.percent'],
    [{ after: { bytes: 1 }, content: { items: 1 } }, 'content'],
    [{ content: { items: 1 }, framing: 'clean' }, 'framing'],
  ] as const)('of %j is refused', (parameters, path) => {
    const problems = truncate.check!({ framing: 'broken', ...parameters })
    expect(problems.map((problem) => problem.path.join('.'))).toEqual([path])
  })

  it.each([[{}], [{ after: { percent: 5 } }], [{ content: { chars: 5 } }]] as const)(
    'of %j is in order',
    (parameters) => {
      expect(truncate.check!({ framing: 'broken', ...parameters })).toEqual([])
    },
  )
})
