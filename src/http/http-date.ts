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

/**
 * Returns the wait that a `Retry-After` header asks for, in milliseconds: a number of seconds, or a
 * date. Undefined for other values.
 */
export function retryAfterOf(value: string, now: number): number | undefined {
  const text = value.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // The date of HTTP always begins with the name of a day; other forms are not dates to everybody.
  const date = /^[A-Z][a-z]{2},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
