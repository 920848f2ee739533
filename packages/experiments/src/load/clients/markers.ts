const COMMENT = Buffer.from(': x-squall-fault ')
const MARKER = /^[A-Za-z0-9._~-]{1,100}\/[A-Za-z0-9._~-]{1,100}$/
/** Limits the markers of one response. */
const MAX_MARKERS = 32

/** Reads the markers of the header `x-squall-fault`. */
export function markersOf(value: string | readonly string[] | null | undefined): string[] {
  if (value === undefined || value === null) return []
  const lines = typeof value === 'string' ? [value] : value
  return lines
    .flatMap((line) => line.split(','))
    .map((marker) => marker.trim())
    .filter((marker) => MARKER.test(marker))
    .slice(0, MAX_MARKERS)
}

/** Reads the marker in a comment of an event stream. */
export function markerIn(frame: Uint8Array): string | undefined {
  if (frame.length < COMMENT.length || frame[0] !== COMMENT[0]) return undefined
  const text = Buffer.from(frame.buffer, frame.byteOffset, Math.min(frame.length, 256))
  if (!text.subarray(0, COMMENT.length).equals(COMMENT)) return undefined
  const marker = text.toString('latin1', COMMENT.length).trimEnd()
  return MARKER.test(marker) ? marker : undefined
}

/** Splits a marker into rule and fault. */
export function splitMarker(marker: string): { readonly rule: string; readonly fault: string } {
  const slash = marker.lastIndexOf('/')
  return { rule: marker.slice(0, slash), fault: marker.slice(slash + 1) }
}
