import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Coding } from '../../src/http/content-coding.ts'
import { HEAVY } from '../../src/base/event-loop.ts'
import { MemoryBudget } from '../../src/listener/memory-budget.ts'
import { SseWatch, type FindSign } from '../../src/listener/sse-watch.ts'
import type { ChunkRun } from '../../src/http/chunk-run.ts'
import { eachResponse } from '../../src/mcp/event-message.ts'
import type { EmitFrame } from '../../src/mcp/sse-framer.ts'
import { signIn } from '../../src/mcp/event-signs.ts'
import { ChunkReader } from '../../src/http/fast/chunk-reader.ts'
import { rounds } from '../support/rounds.ts'

const TEXT = 'id: 1\ndata: 日本\n\nevent: x\r\ndata: 2\r\n\r\n'

const everything: FindSign = (_text, from) => from

async function watch(
  coding: Coding,
  pieces: readonly Uint8Array[],
  limit = 1000,
  memory = new MemoryBudget(Infinity),
) {
  const seen: string[] = []
  const onFrame: EmitFrame = (frame) => {
    // A line feed that comes late is a frame of its own that says nothing.
    if (frame.data !== undefined) seen.push(frame.data)
  }
  const watching = new SseWatch(coding, limit, everything, onFrame, memory)
  for (const piece of pieces) watching.push(piece)
  await new Promise<void>((resolve) => watching.end(resolve))
  expect(memory.held).toBe(0)
  return { seen, missed: watching.missed }
}

const bytewise = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))

test.each<[Coding, Buffer]>([
  ['identity', Buffer.from(TEXT)],
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
])(
  'events in %s are seen before the end is reported, however they are cut',
  async (coding, bytes) => {
    const all = { seen: ['日本', '2'], missed: false }
    expect(await watch(coding, [bytes])).toEqual(all)
    expect(await watch(coding, bytewise(bytes))).toEqual(all)
  },
)

test('of a stream that was cut, what came is seen', async () => {
  const bytes = gzipSync(TEXT)
  const { seen } = await watch('gzip', [bytes.subarray(0, -8)])
  expect(seen).toEqual(['日本', '2'])
})

test('a large event is read when its turn has come, those behind it after it, and the end is last', async () => {
  const large = 'x'.repeat(HEAVY)
  const text = `data: 1\n\ndata: ${large}\n\ndata: 3\n\ndata: ${large}\n\n`
  const seen: string[] = []
  const onFrame: EmitFrame = ({ data }) => void seen.push(data![0]!)
  const watching = new SseWatch('identity', 2 * HEAVY, everything, onFrame)
  watching.push(Buffer.from(text))
  expect(seen).toEqual(['1'])
  await new Promise<void>((resolve) => watching.end(resolve))
  expect(seen).toEqual(['1', 'x', '3', 'x'])
})

test('a large event for which there is no room is reported as missed', async () => {
  const text = `data: 1\n\ndata: ${'x'.repeat(HEAVY)}\n\ndata: 3\n\n`
  const memory = new MemoryBudget(HEAVY)
  expect(await watch('identity', [Buffer.from(text)], 2 * HEAVY, memory)).toEqual({
    seen: ['1', '3'],
    missed: true,
  })
})

test('an event above the limit is reported as missed, and those around it are seen', async () => {
  const text = `data: 1\n\ndata: ${'x'.repeat(100)}\n\ndata: 3\n\n`
  expect(await watch('identity', [Buffer.from(text)], 50)).toEqual({
    seen: ['1', '3'],
    missed: true,
  })
})

test.each<[string, Coding, string]>([
  ['an unknown coding', 'unknown', TEXT],
  ['damage', 'gzip', 'no gzip at all'],
])('%s is reported as missed and hurts nobody', async (_what, coding, text) => {
  const bytes = Buffer.from(text)
  expect(await watch(coding, [bytes, bytes])).toEqual({ seen: [], missed: true })
})

/** Gives a stream's chunks to a watch, one by one or all at once. */
function give(watching: SseWatch, chunks: readonly string[], atOnce: boolean): void {
  if (!atOnce) {
    for (const chunk of chunks) watching.push(Buffer.from(chunk, 'latin1'))
    return
  }
  const written = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
  new ChunkReader().read(Buffer.from(written, 'latin1'), 0, written.length, {
    paused: false,
    piece: () => expect.unreachable('a chunk that is in no run'),
    run: (run: ChunkRun) => watching.chunks(run),
  })
}

interface Learning {
  readonly ids: boolean
  readonly limit: number
}

/**
 * Returns the findings of a watch on a stream: each response, and each id of an event where they
 * are wanted.
 */
function learnt(chunks: readonly string[], sign: FindSign, atOnce: boolean, how: Learning): object {
  const seen: unknown[] = []
  const watching = new SseWatch('identity', how.limit, sign, (frame) => {
    if (how.ids && frame.id !== undefined) seen.push(frame.id)
    eachResponse(frame, ({ id }) => seen.push(id))
  })
  give(watching, chunks, atOnce)
  return { seen, missed: watching.missed, between: watching.between }
}

test('what has no sign may go by unread, chunk by chunk or all at once', () => {
  const message = fc.constantFrom(
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"idle":"id: id"}}',
    '{"jsonrpc":"2.0","method":"notifications/progress"}',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0", "error" : {"code":1}, "id" : 2 }',
    '{"jsonrpc":"2.0","i\\u0064":3,"r\\u0065sult":{}}',
    '{"jsonrpc":"2.0","\\u0069\\u0064":4,"\\u0072esult":{}}',
    '{"jsonrpc":"2.0","id":5,"method":"ping"}',
    '{"jsonrpc":"2.0","result":{}}',
    'id',
  )
  const line = fc.oneof(
    message.map((data) => `data: ${data}`),
    fc.constantFrom('id: 7', 'id', 'id:', 'idle: 1', 'event: message', ': id', 'x', 'data: {'),
  )
  const eol = fc.constantFrom('\n', '\r\n', '\r')
  const event = fc
    .tuple(fc.array(fc.tuple(line, eol), { minLength: 1, maxLength: 3 }), eol)
    .map(([lines, end]) => lines.flat().join('') + end)
  const part = fc.constantFrom('\n', '\r', 'da', 'id: 8', ':', 'x\r\n', 'x\n')
  const stream = fc
    .tuple(
      fc.constantFrom('', '\xef\xbb\xbf'),
      fc.oneof(fc.array(event, { maxLength: 8 }), fc.array(fc.oneof(event, part))),
    )
    .map(([bom, [first = ':', ...more]]) => [bom + first, ...more])
  const how = fc.record({ ids: fc.boolean(), limit: fc.constantFrom(20, 100, 1000) })
  fc.assert(
    fc.property(stream, how, (chunks, learning) => {
      const sign: FindSign = (text, from) => signIn(text, from, learning.ids)
      const all = learnt(chunks, everything, false, learning)
      expect(learnt(chunks, sign, false, learning)).toEqual(all)
      expect(learnt(chunks, sign, true, learning)).toEqual(all)
      expect(learnt(chunks, everything, true, learning)).toEqual(all)
    }),
    { numRuns: rounds(600, 3000) },
  )
})

test.each([true, false])('events without a sign are not read (all at once: %j)', (atOnce) => {
  const quiet = 'data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n'
  const chunks = [quiet, quiet, 'id: 1\ndata: {"id":1}\n\n', quiet, quiet.replaceAll('\n', '\r\n')]
  let read = 0
  const watching = new SseWatch(
    'identity',
    1000,
    (text, from) => signIn(text, from, true),
    () => {
      read++
    },
  )
  give(watching, chunks, atOnce)
  // The first one is always read: it may begin with a mark.
  expect(read).toBe(2)
})
