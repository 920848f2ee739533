const LF = 10
const CR = 13
/** Events are read out of so many bytes at a time: they take far more room and time than their bytes. */
const SLICE = 4 * 1024

/** Returns where the slice of whole events ends that begins at a place; the length where none ends. */
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
