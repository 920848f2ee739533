/** Bytes that have a meaning in a header block, or are next to such bytes. */
const TELLING = Buffer.from('\r\n\t\0 09:;,/\\"-_az@AZ\x1f\x7f\x80\xa0\xff', 'latin1')
const ALL = Uint8Array.from({ length: 256 }, (_none, byte) => byte)

/**
 * Yields the text with each single mutation: a byte removed, a byte replaced by any other, or one
 * of the bytes that have a meaning inserted. The text from `end` on stays as it is.
 */
export function* singleStrokes(text: string, end: number, others = ALL): Generator<Buffer> {
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < end; at++) {
    const before = bytes.subarray(0, at)
    const behind = bytes.subarray(at + 1)
    yield Buffer.concat([before, behind])
    for (const byte of others) yield Buffer.concat([before, Buffer.of(byte), behind])
    for (const byte of TELLING) yield Buffer.concat([before, Buffer.of(byte), bytes.subarray(at)])
  }
}
