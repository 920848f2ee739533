/** Formats a time as an HTTP date. */
export function httpDate(ms: number): string {
  // The time is passed in; no clock is read.
  return new Date(ms).toUTCString()
}

/** A `Date` header has whole seconds, and servers that are busy renew it late. */
const PRECISION_MS = 2_000

/**
 * Returns by how many milliseconds the clock of a server is ahead, from the `Date` header of its
 * response: what was known before, unless the header and the times of the exchange disagree.
 */
export function clockAhead(
  date: number,
  { sentAt, receivedAt }: { readonly sentAt: number; readonly receivedAt: number },
  before = 0,
): number {
  const least = date - receivedAt
  const most = date + PRECISION_MS - sentAt
  return Math.max(least, Math.min(most, before))
}
