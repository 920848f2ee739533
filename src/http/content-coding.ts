import * as zlib from 'node:zlib'
import type { Transform } from 'node:stream'

/** Node can read Zstandard from 22.15 and 23.8 on. */
interface Zstandard {
  readonly zstdDecompressSync?: (bytes: Uint8Array, options: zlib.ZlibOptions) => Buffer
  readonly createZstdDecompress?: () => Transform
}

const { zstdDecompressSync, createZstdDecompress } = zlib as typeof zlib & Zstandard

/** What is known of a body's coding: plain, one that can be read, or one that cannot. */
export type Coding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd' | 'unknown'

/** Reads a Content-Encoding value. */
export function codingOf(value: string | undefined): Coding {
  const name = value === undefined ? '' : value.trim().toLowerCase()
  if (name === '' || name === 'identity') return 'identity'
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  if (name === 'deflate' || name === 'br') return name
  if (name === 'zstd' && zstdDecompressSync !== undefined) return name
  return 'unknown'
}

/** Bodies that grow by more than this are not decoded, unless they stay below `SMALL`. */
export const MAX_RATIO = 100
const SMALL = 256 * 1024

/** Returns how many bytes a body may be decoded to. */
export function decodedLimit(coded: number, limit: number): number {
  return Math.min(limit, Math.max(SMALL, coded * MAX_RATIO))
}

/** Decodes a copy of a whole body; undefined when it is damaged, larger than `limit`, or packed too densely. */
export function decodeWhole(
  coding: Coding,
  bytes: Uint8Array,
  limit: number,
): Uint8Array | undefined {
  if (coding === 'identity') return bytes
  if (coding === 'unknown') return undefined
  const options = { maxOutputLength: decodedLimit(bytes.length, limit) }
  try {
    if (coding === 'gzip') return zlib.gunzipSync(bytes, options)
    if (coding === 'deflate') return zlib.inflateSync(bytes, options)
    if (coding === 'br') return zlib.brotliDecompressSync(bytes, options)
    const plain = zstdDecompressSync!(bytes, options)
    // Where Node finds no end it gives nothing, and no error.
    return plain.length > 0 ? plain : undefined
  } catch {
    return undefined
  }
}

/** Decodes a stream as it goes, each piece as soon as it can be read. */
export function decoderFor(coding: Coding): Transform | undefined {
  const { constants } = zlib
  const flush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
  if (coding === 'gzip') return zlib.createGunzip(flush)
  if (coding === 'deflate') return zlib.createInflate(flush)
  const { BROTLI_OPERATION_FLUSH } = constants
  if (coding === 'br') return zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH })
  if (coding === 'zstd') return createZstdDecompress!()
  return undefined
}
