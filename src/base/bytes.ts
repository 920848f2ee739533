/**
 * Copies a latin1 text. A slice of a longer text keeps the whole text alive, and a concatenation is
 * copied part by part wherever it is used.
 */
export function inOnePiece(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** Returns the same bytes as a Buffer, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Copies the bytes between two offsets. */
export function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from)
  bytes.copy(copy, 0, from, to)
  return copy
}

/** Returns the offset of the next such byte from `from` on; the length without one. */
export function positionOf(bytes: Buffer, byte: number, from: number): number {
  if (bytes[from] === byte) return from
  const at = bytes.indexOf(byte, from)
  return at < 0 ? bytes.length : at
}

/** Decodes UTF-8 and removes a byte order mark; undefined for other bytes. */
export function strictText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Joins two adjacent parts of a buffer without a copy; undefined for others. */
export function adjoined(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  const { buffer, byteOffset, byteLength } = first
  if (second.buffer !== buffer || byteOffset + byteLength !== second.byteOffset) return undefined
  return new Uint8Array(buffer, byteOffset, byteLength + second.byteLength)
}
