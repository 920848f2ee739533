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

/**
 * Returns a text that is the same bytes when it is written again, less a byte order mark in front;
 * undefined for what is not UTF-8.
 */
export function strictText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Both as one, without a copy; undefined where the second does not lie right behind the first. */
export function adjoined(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  const { buffer, byteOffset, byteLength } = first
  if (second.buffer !== buffer || byteOffset + byteLength !== second.byteOffset) return undefined
  return new Uint8Array(buffer, byteOffset, byteLength + second.byteLength)
}
