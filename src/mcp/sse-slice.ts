const LF = 10
const CR = 13
/** The bytes that are read at a time, because parsed events take far more memory and time. */
const SLICE = 4 * 1024

/** Returns the end of the slice of whole events at `begin`, or the length of the bytes. */
export function endOfSlice(bytes: Uint8Array, begin: number): number {
  for (let at = begin + SLICE; at < bytes.length; at++) {
    const byte = bytes[at]
    const before = bytes[at - 1]
    if (byte === LF ? before === LF : byte === CR && (before === LF || before === CR)) {
      return byte === CR && bytes[at + 1] === LF ? at + 2 : at + 1
    }
  }
  return bytes.length
}
