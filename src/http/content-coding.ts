import * as zlib from 'node:zlib'
import type { Transform } from 'node:stream'

/** Declares Zstandard, which Node supports since 22.15 and 23.8. */
interface Zstandard {
  readonly zstdDecompressSync?: (bytes: Uint8Array, options: zlib.ZlibOptions) => Buffer
  readonly createZstdDecompress?: () => Transform
}

const { zstdDecompressSync, createZstdDecompress } = zlib as typeof zlib & Zstandard

/** A content coding: `identity`, one that can be decoded, or `unknown`. */
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

/** Bodies with a higher compression ratio are not decoded, unless they stay below `SMALL`. */
export const MAX_RATIO = 100
const SMALL = 256 * 1024

/** Returns the bound on the decoded size of a body. */
export function decodedLimit(coded: number, limit: number): number {
  return Math.min(limit, Math.max(SMALL, coded * MAX_RATIO))
}

/**
 * Decodes a copy of a whole body; undefined when the body is damaged or exceeds its decoded limit.
 */
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
    // Node returns nothing, and no error, for a truncated body.
    return plain.length > 0 ? plain : undefined
  } catch {
    return undefined
  }
}

/** Creates a decoder for a stream that emits each piece as soon as possible. */
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
