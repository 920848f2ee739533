/**
 * The same latin1 text in one piece of its own. A part of a longer text keeps all of that alive, and
 * one put together of parts is copied part by part wherever it is used.
 */
export function inOnePiece(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** The same bytes as a Buffer, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A copy of the bytes between two places. */
export function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from)
  bytes.copy(copy, 0, from, to)
  return copy
}
