import { once } from 'node:events'
import * as zlib from 'node:zlib'
import { expect, test } from 'vitest'
import { codingOf, decoderFor, decodeWhole, type Coding } from '../../src/http/content-coding.ts'

const { brotliCompressSync, createGzip, deflateSync, gzipSync, constants } = zlib
const { zstdCompressSync } = zlib as { zstdCompressSync?: (text: string) => Buffer }
const CODED: readonly (readonly [Coding, (text: string) => Buffer])[] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ...(zstdCompressSync === undefined ? [] : ([['zstd', zstdCompressSync]] as const)),
]
const TEXT = '{"text":"日本 🦑"}'.repeat(50)

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  [' Identity ', 'identity'],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  // Node reads it from 22.15 and 23.8 on.
  ['zstd', zstdCompressSync === undefined ? 'unknown' : 'zstd'],
  ['gzip, br', 'unknown'],
])('the coding %j is %s', (value, coding) => {
  expect(codingOf(value)).toBe(coding)
})

test.each(CODED)('%s is read whole, up to the limit', (coding, compress) => {
  const bytes = compress(TEXT)
  const size = Buffer.byteLength(TEXT)
  expect(Buffer.from(decodeWhole(coding, bytes, size)!).toString()).toBe(TEXT)
  expect(decodeWhole(coding, bytes, size - 1)).toBeUndefined()
  expect(decodeWhole(coding, bytes.subarray(0, -10), size)).toBeUndefined()
  expect(decodeWhole(coding, Buffer.from('damage'), size)).toBeUndefined()
})

test('what is plain is not copied, and what is unknown not read', () => {
  const bytes = Buffer.from(TEXT)
  expect(decodeWhole('identity', bytes, 1)).toBe(bytes)
  expect(decodeWhole('unknown', bytes, 1e6)).toBeUndefined()
  expect(decoderFor('identity')).toBeUndefined()
  expect(decoderFor('unknown')).toBeUndefined()
})

test('a stream is read piece by piece, before it ends', async () => {
  const decoder = decoderFor('gzip')!
  const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH })
  gzip.pipe(decoder)
  for (const part of ['data: 1\n\n', 'data: 2\n\n']) {
    gzip.write(part)
    const [bytes] = (await once(decoder, 'data')) as [Buffer]
    expect(bytes.toString()).toBe(part)
  }
  gzip.destroy()
  decoder.destroy()
})
