import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Coding } from '../../src/listener/content-coding.ts'
import { SseWatch } from '../../src/listener/sse-watch.ts'

const TEXT = 'id: 1\ndata: 日本\n\nevent: x\r\ndata: 2\r\n\r\n'

async function watch(coding: Coding, pieces: readonly Uint8Array[], limit = 1000) {
  const seen: string[] = []
  const watching = new SseWatch(coding, limit, (frame) => {
    // A line feed that comes late is a frame of its own that says nothing.
    if (frame.data !== undefined) seen.push(frame.data)
  })
  for (const piece of pieces) watching.push(piece)
  await new Promise<void>((resolve) => watching.end(resolve))
  return { seen, missed: watching.missed }
}

const bytewise = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))

test.each<[Coding, Buffer]>([
  ['identity', Buffer.from(TEXT)],
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
])('events in %s are seen before the end is told, however they are cut', async (coding, bytes) => {
  const all = { seen: ['日本', '2'], missed: false }
  expect(await watch(coding, [bytes])).toEqual(all)
  expect(await watch(coding, bytewise(bytes))).toEqual(all)
})

test('of a stream that was cut, what came is seen', async () => {
  const bytes = gzipSync(TEXT)
  const { seen } = await watch('gzip', [bytes.subarray(0, -8)])
  expect(seen).toEqual(['日本', '2'])
})

test('an event above the limit is told as missed, and those around it are seen', async () => {
  const text = `data: 1\n\ndata: ${'x'.repeat(100)}\n\ndata: 3\n\n`
  expect(await watch('identity', [Buffer.from(text)], 50)).toEqual({
    seen: ['1', '3'],
    missed: true,
  })
})

test.each<[string, Coding, string]>([
  ['an unknown coding', 'unknown', TEXT],
  ['damage', 'gzip', 'no gzip at all'],
])('%s is told as missed and hurts nobody', async (_what, coding, text) => {
  const bytes = Buffer.from(text)
  expect(await watch(coding, [bytes, bytes])).toEqual({ seen: [], missed: true })
})
