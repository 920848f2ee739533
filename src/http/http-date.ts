/** Formats a time as an HTTP date. */
export function httpDate(ms: number): string {
  // The time is passed in; no clock is read.
  return new Date(ms).toUTCString()
}
