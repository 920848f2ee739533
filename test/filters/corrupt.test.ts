import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { corrupt } from '../../src/filters/corrupt.ts'
import { DAMAGE, type DamageMode } from '../../src/filters/lib/damage.ts'
import { withEventData } from '../../src/filters/lib/stream/event-data.ts'
import { SseFramer, type SseFrame } from '../../src/mcp/sse-framer.ts'
import { Context, frame, frames, texts } from './context.ts'
import { responseEvent, chunksOf, Forbidden, jsonLines, output, SSE_LINES } from './outputs.ts'

const MODES = Object.keys(DAMAGE) as DamageMode[]
const JSON_TEXT = '{"jsonrpc":"2.0","id":1,"result":{"text":"a \\"word\\" \\u00e9 of its own"}}'

function valueOf(lines: readonly string[], name: string): string | undefined {
  const index = lines.findIndex((each, at) => at % 2 === 0 && each.toLowerCase() === name)
  return index < 0 ? undefined : lines[index + 1]
}

function isJson(bytes: string): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes, 'latin1')))
    return true
  } catch {
    return false
  }
}

async function damaged(
  mode: DamageMode,
  lines: readonly string[],
  text: string,
  ctx = new Context(),
) {
  const out = await corrupt.create({ mode }).onOutput!(ctx, output(lines, [text]))
  return { ctx, lines: out.head.headers, text: (await chunksOf(out)).join('') }
}

describe('corrupt', () => {
  it.each(MODES)('by %s damages a JSON body, under a length that is true', async (mode) => {
    const { ctx, lines, text } = await damaged(mode, jsonLines(JSON_TEXT.length), JSON_TEXT)
    expect(ctx.effects).toBe(1)
    expect(text).not.toBe(JSON_TEXT)
    expect(valueOf(lines, 'content-length')).toBe(String(text.length))
    expect(valueOf(lines, 'content-type')).toBe(
      mode === 'html' ? 'text/html; charset=utf-8' : 'application/json',
    )
    if (mode !== 'bitflip') expect(isJson(text)).toBe(false)
  })

  it.each(MODES)('by %s says of a coded body what is sent', async (mode) => {
    const lines = [...jsonLines(4), 'Content-Encoding', 'gzip', 'ETag', '"a"']
    const got = await damaged(mode, lines, '\x1f\x0b"x"')
    const isReplaced = mode === 'garbage' || mode === 'html' || mode === 'empty'
    expect(got.ctx.effects).toBe(mode === 'invalid-utf8' ? 0 : 1)
    expect(valueOf(got.lines, 'content-encoding')).toBe(isReplaced ? undefined : 'gzip')
    expect(valueOf(got.lines, 'etag')).toBe(isReplaced ? undefined : '"a"')
  })

  it.each(MODES)('by %s leaves a response without a body alone', async (mode) => {
    const got = await damaged(mode, jsonLines(1234), '')
    expect([got.text, got.ctx.effects, valueOf(got.lines, 'content-length')]).toEqual([
      '',
      0,
      '1234',
    ])
  })

  it.each(['bitflip', 'invalid-utf8'] as const)(
    'by %s damages the beginning of a large body and sends the rest',
    async (mode) => {
      const chunks = Array<string>(40).fill('x'.repeat(10_000))
      const ctx = new Context()
      const out = await corrupt.create({ mode }).onOutput!(ctx, output(jsonLines(4e5), chunks))
      const text = (await chunksOf(out)).join('')
      expect(valueOf(out.head.headers, 'content-length')).toBe(String(text.length))
      expect(text.slice(-100_000)).toBe('x'.repeat(100_000))
      expect(text).not.toBe('x'.repeat(text.length))
      const noLength = await corrupt.create({ mode }).onOutput!(ctx, output([], chunks))
      expect(valueOf(noLength.head.headers, 'content-length')).toBeUndefined()
    },
  )

  it.each(MODES)('by %s damages the event that answers, and no other', async (mode) => {
    const ctx = new Context()
    const fault = corrupt.create({ mode })
    const event = `id: 7\r\nevent: message\r\ndata: {"a":\r\ndata:  "b"}\r\nretry: 5\r\n\r\n`
    const list = [frame('event', 'data: {"a":1}\n\n'), frame('event', event, true)]
    const [first, second, ...more] = await texts(fault.onResponse!(ctx, frames(...list)))
    expect(more).toEqual([])
    expect(first).toBe('data: {"a":1}\n\n')
    expect(ctx.effects).toBe(1)
    const [read, ...others] = framed(Buffer.from(second!))
    expect(others).toEqual([])
    expect(read).toMatchObject({ id: '7', event: 'message', retry: 5 })
    expect(read!.data).not.toBe('{"a":\n "b"}')
    // The damage is done on bytes, which were read as text here.
    if (mode !== 'bitflip' && mode !== 'invalid-utf8') expect(isJson(read!.data!)).toBe(false)
  })

  it('leaves bodies to the way out, where batches do not come', async () => {
    const ctx = new Context()
    const fault = corrupt.create({ mode: 'garbage' })
    expect(await texts(fault.onResponse!(ctx, frames(frame('body', '{}', true))))).toEqual(['{}'])
    const out = await fault.onOutput!(ctx, output(SSE_LINES, [responseEvent(1)]))
    expect(await chunksOf(out)).toEqual([responseEvent(1)])
    expect(ctx.effects).toBe(0)
  })

  it('leaves an event without data alone', async () => {
    const ctx = new Context()
    const event = frames(frame('event', 'id: 1\n\n', true))
    const through = corrupt.create({ mode: 'garbage' }).onResponse!(ctx, event)
    expect(await texts(through)).toEqual(['id: 1\n\n'])
    expect(ctx.effects).toBe(0)
  })

  it('claims another content type, of a stream as well', async () => {
    const fault = corrupt.create({ mode: 'html', contentType: 'text/plain' })
    for (const lines of [SSE_LINES, jsonLines(2)]) {
      const ctx = new Context()
      const out = await fault.onOutput!(ctx, output(lines, ['{}']))
      expect(valueOf(out.head.headers, 'content-type')).toBe('text/plain')
      expect(ctx.effects).toBe(1)
    }
  })

  it('has the same effect for the same draws', async () => {
    const lines = jsonLines(JSON_TEXT.length)
    const once = async () =>
      (await damaged('garbage', lines, JSON_TEXT, new Context({ draws: [0.1, 0.2, 0.3] }))).text
    expect(await once()).toBe(await once())
  })

  it('reports its reason when it may not act', async () => {
    await expect(damaged('garbage', jsonLines(2), '{}', new Forbidden())).rejects.toThrow('may not')
  })

  it.each([
    [undefined, []],
    ['text/plain; charset=latin1', []],
    ['text/plain\r\nX: y', ['contentType']],
    ['text/\u0100', ['contentType']],
  ])('with the content type %j has the problems %j', (contentType, paths) => {
    const problems = corrupt.check!({ mode: 'html', ...(contentType && { contentType }) })
    expect(problems.map(({ path }) => path.join('.'))).toEqual(paths)
  })
})

describe('the data of an event', () => {
  it('is written anew among the other lines, which stay', () => {
    const event = Buffer.from('id: 1\r\ndata:a\r\ndata\r\n: b\r\ndata:  c\r\nx\r\n\r\n')
    const seen: string[] = []
    const changed = withEventData(event, (data) => (seen.push(data), '1\n2'))
    expect(seen).toEqual(['a\n\n c'])
    expect(Buffer.from(changed!).toString()).toBe('id: 1\r\ndata: 1\r\ndata: 2\r\n: b\r\nx\r\n\r\n')
  })
})

describe('damage', () => {
  const draws = fc.array(
    fc.integer({ min: 0, max: 999 }).map((each) => each / 1000),
    { minLength: 40 },
  )
  /** Bytes that differ from the end of a line by one bit. */
  const nearLineEnds = fc.string({
    unit: fc.constantFrom('\n', '\r', '\b', '\v', '\f', '\x0e', '\x0f', '*', '-', 'J', 'M'),
    minLength: 1,
  })
  const bytes = fc
    .uint8Array({ minLength: 1, maxLength: 200 })
    .map((each) => Buffer.from(each).toString('latin1'))

  it.each(MODES)('by %s changes the text, and neither adds nor takes away line ends', (mode) => {
    fc.assert(
      fc.property(
        fc.oneof(
          bytes,
          nearLineEnds,
          fc.json().filter((text) => text !== ''),
        ),
        draws,
        (text, list) => {
          const plain = Buffer.from(text, 'utf8').toString('latin1')
          let at = 0
          const random = () => list[at++ % list.length]!
          const changed = DAMAGE[mode](plain, random)
          // Ends of lines are all that a flip of bits has no use for.
          if (/^[\r\n]*$/.test(plain) && mode === 'bitflip') return changed === undefined
          expect(changed).not.toBe(plain)
          if (mode === 'garbage' || mode === 'html' || mode === 'empty') {
            expect(changed).not.toMatch(/[\r\n]/)
            expect(isJson(changed!)).toBe(false)
          } else {
            expect(changed!.replace(/[^\r\n]/g, '')).toBe(plain.replace(/[^\r\n]/g, ''))
          }
          if (mode === 'invalid-utf8') {
            const decoder = new TextDecoder('utf-8', { fatal: true })
            expect(() => decoder.decode(Buffer.from(changed!, 'latin1'))).toThrow('not valid')
          }
          return true
        },
      ),
    )
  })

  const escaped = fc.string({ unit: fc.constantFrom('\u0001', '\\', '"', '\u00e9', 'a') })

  it('puts invalid bytes within a text, so that a lenient reader still finds JSON', () => {
    fc.assert(
      fc.property(escaped, draws, (said, list) => {
        const plain = Buffer.from(JSON.stringify({ a: 1, said })).toString('latin1')
        let at = 0
        const changed = DAMAGE['invalid-utf8'](plain, () => list[at++ % list.length]!)!
        const read = JSON.parse(Buffer.from(changed, 'latin1').toString('utf8')) as object
        expect(read).toMatchObject({ a: 1 })
      }),
    )
  })
})

function framed(bytes: Buffer): SseFrame[] {
  const list: SseFrame[] = []
  new SseFramer(1e6).push(bytes, (each) => list.push(each))
  return list
}
