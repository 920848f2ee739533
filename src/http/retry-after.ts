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
