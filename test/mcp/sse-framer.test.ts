import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { SseFramer, type SseFrame } from '../../src/mcp/sse-framer.ts'
import { referenceEvents } from './sse-reference.ts'
import { rounds } from '../support/rounds.ts'

function frame(bytes: Uint8Array, cuts: readonly number[] = [], limit = 1 << 20) {
  const framer = new SseFramer(limit)
  const frames: SseFrame[] = []
  let from = 0
  for (const cut of [...cuts.map((c) => c % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  )) {
    framer.push(bytes.subarray(from, cut), (f) => frames.push(f))
    from = cut
  }
  return { frames, rest: framer.end() }
}

function eventsOf(frames: readonly SseFrame[]) {
  const events = []
  let lastEventId = ''
  let retry: number | undefined
  for (const { event, data, id, retry: wait } of frames) {
    if (id !== undefined) lastEventId = id
    if (wait !== undefined) retry = wait
    if (data !== undefined) events.push({ type: event ?? 'message', data, lastEventId })
  }
  return { events, retry }
}

const text = (s: string) => Buffer.from(s, 'utf8')
const all = (frames: readonly SseFrame[], rest: Uint8Array) =>
  Buffer.concat([...frames.map((f) => f.raw), rest])

const eol = fc.constantFrom('\n', '\r\n', '\r')
const value = fc.oneof(
  fc.constantFrom('', ' ', 'x', ' 日本', '{"a":1}', ':', '12', 'a\0b', '\ufeff'),
  fc.string(),
)
const name = fc.constantFrom(
  'data',
  'event',
  'id',
  'retry',
  '',
  'datax',
  'dat',
  'retry ',
  ' data',
  'Data',
)
const line = fc.oneof(
  fc.tuple(name, value).map(([n, v]) => `${n}:${v}`),
  fc.constantFrom('data', 'event', 'id', 'retry', ': comment', 'nonsense', ''),
  fc.constant(''),
)
const stream = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(line, eol)), fc.constantFrom('', 'data: cut'))
  .map(([bom, lines, tail]) =>
    text((bom ? '\ufeff' : '') + lines.map(([l, e]) => l + e).join('') + tail),
  )
const hostile = fc
  .array(fc.constantFrom(10, 13, 58, 32, 0xef, 0xbb, 0xbf, 0xe6, 0x97, 0xa5, 100, 97, 116, 0))
  .map((b) => Uint8Array.from(b))
const cuts = fc.array(fc.nat(2000), { maxLength: 40 })

test('any stream in any chunks keeps every byte and means what the standard says', () => {
  fc.assert(
    fc.property(fc.oneof(stream, hostile), cuts, (bytes, at) => {
      const { frames, rest } = frame(bytes, at)
      expect(all(frames, rest).equals(bytes)).toBe(true)
      // The standard drops an event without its blank line, but what it says of id and retry
      // counts.
      const whole = bytes.subarray(0, bytes.length - rest.length)
      const { events, retry } = eventsOf(frames)
      expect(events).toEqual(referenceEvents(bytes).events)
      expect(retry).toEqual(referenceEvents(whole).retry)
    }),
    { numRuns: rounds(500, 2000) },
  )
})

test('one byte at a time gives the same events as all at once', () => {
  fc.assert(
    fc.property(stream, (bytes) => {
      const single = frame(
        bytes,
        Array.from(bytes, (_, i) => i),
      )
      expect(eventsOf(single.frames)).toEqual(eventsOf(frame(bytes).frames))
    }),
  )
})

test('with any limit no byte is lost, and no more than the limit is ever read or held', () => {
  fc.assert(
    fc.property(stream, cuts, fc.integer({ min: 1, max: 40 }), (bytes, at, limit) => {
      const { frames, rest } = frame(bytes, at, limit)
      expect(all(frames, rest).equals(bytes)).toBe(true)
      expect(rest.length).toBeLessThanOrEqual(limit)
      for (const f of frames) {
        if (f.oversized) expect(f.data).toBeUndefined()
        else expect(f.raw.length).toBeLessThanOrEqual(limit)
      }
    }),
  )
})

test.each(['\n', '\r\n', '\r'])('an event leaves with its blank line (%j)', (end) => {
  const { frames, rest } = frame(
    text(`event: message${end}id: 7${end}retry: 50${end}data: a${end}data: b${end}${end}`),
  )
  expect(frames).toHaveLength(1)
  const { event, id, retry, data, oversized, ends } = frames[0]!
  expect({ event, id, retry, data, oversized, ends }).toEqual({
    event: 'message',
    id: '7',
    retry: 50,
    data: 'a\nb',
    oversized: false,
    ends: true,
  })
  expect(rest).toHaveLength(0)
})

test('an event that ends in CR does not wait for an LF, which follows on its own', () => {
  const framer = new SseFramer(100)
  const seen: string[] = []
  const push = (s: string) =>
    framer.push(text(s), (f) => seen.push(`${Buffer.from(f.raw).toString()}=${f.data}`))
  push('data: a\r\n\r')
  expect(seen).toEqual(['data: a\r\n\r=a'])
  push('\n')
  push('data: b\n\n')
  expect(seen.slice(1)).toEqual(['\n=undefined', 'data: b\n\n=b'])
})

test('a comment says nothing; an empty data line says the empty text', () => {
  const { frames } = frame(text(': keepalive\n\ndata:\n\nid\ndata\n\n'))
  expect(frames.map((f) => [f.event, f.id, f.retry, f.data])).toEqual([
    [undefined, undefined, undefined, undefined],
    [undefined, undefined, undefined, ''],
    [undefined, '', undefined, ''],
  ])
})

test('an event above the limit passes in pieces, and the next one is read again', () => {
  const bytes = text(`data: ${'x'.repeat(50)}\n\ndata: ok\n\n`)
  const { frames } = frame(bytes, [10, 20, 30, 40], 16)
  expect(frames.slice(0, -1).every((f) => f.oversized)).toBe(true)
  expect(frames.filter((f) => f.ends)).toHaveLength(2)
  expect(frames.at(-1)!.data).toBe('ok')
})

test('an event within one chunk is not copied', () => {
  const bytes = text('data: a\n\ndata: b\n\n')
  for (const f of frame(bytes).frames) expect(f.raw.buffer).toBe(bytes.buffer)
})

test('the bytes of an unfinished event stay as they are when the caller uses its chunk again', () => {
  const framer = new SseFramer(100)
  const chunk = text('data: a')
  framer.push(chunk, () => undefined)
  chunk.fill(0)
  expect(Buffer.from(framer.end()).toString()).toBe('data: a')
})

test('a framer that follows another cuts where that one cuts', () => {
  const part = fc.constantFrom('\n', '\r\n', '\r', 'data: a', 'id: 1', ': b', '')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), fc.nat(), fc.nat(), (parts, at, next) => {
      const bytes = text(parts.join(''))
      const cut = at % (bytes.length + 1)
      const second = cut + (next % (bytes.length - cut + 1))
      const framer = new SseFramer(1000)
      framer.push(bytes.subarray(0, cut), () => undefined)
      const half = !framer.between
      const follower = framer.fork()
      const ends: Record<'first' | 'second', number[]> = { first: [], second: [] }
      // The second framer does not get the unfinished event of the first one.
      let first = frame(bytes.subarray(0, cut)).frames.reduce((sum, { raw }) => sum + raw.length, 0)
      let place = cut
      let pieces = half
      for (const chunk of [bytes.subarray(cut, second), bytes.subarray(second)]) {
        framer.push(chunk, ({ raw }) => ends.first.push((first += raw.length)))
        follower.push(chunk, ({ raw, ends: isEnd, oversized }) => {
          place += raw.length
          expect(oversized).toBe(pieces)
          if (isEnd) pieces = false
          if (isEnd) ends.second.push(place)
        })
      }
      expect(ends.second).toEqual(ends.first)
      expect(follower.between).toBe(framer.between)
    }),
  )
})
