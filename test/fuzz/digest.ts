/** A number that stands for some bytes. */
export function digestOf(bytes: Uint8Array): number {
  let digest = 0x811c9dc5
  for (const byte of bytes) digest = Math.imul(digest ^ byte, 0x01000193)
  return digest >>> 0
}
