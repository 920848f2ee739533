const LAST_INSTANT = 8_640_000_000_000_000

/** Milliseconds since the epoch as ISO 8601; null for times that are none. */
export function isoTime(ms: number | undefined): string | null {
  if (ms === undefined || !(Math.abs(ms) <= LAST_INSTANT)) return null
  return new Date(ms).toISOString()
}
