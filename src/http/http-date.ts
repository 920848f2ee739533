/** A point in time as HTTP headers write it. */
export function httpDate(ms: number): string {
  // Writes a time that was given, and asks no clock.
  // oxlint-disable-next-line no-restricted-globals
  return new Date(ms).toUTCString()
}
