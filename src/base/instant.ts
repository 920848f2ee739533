/** A point in time as RFC 3339 writes it, with its offset from UTC. */
export const INSTANT_PATTERN =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$'

const PARTS =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/
/** The last time with a year of four digits. */
const LAST_MS = 253_402_300_799_999

/**
 * Parses a time into milliseconds since the epoch; undefined for other texts, or without an offset.
 */
export function readInstant(text: string): number | undefined {
  const parts = PARTS.exec(text)
  if (parts === null) return undefined
  const part = (index: number): number => Number(parts[index] ?? 0)
  const [year, month, day] = [part(1), part(2), part(3)]
  const [hour, minute, second] = [part(4), part(5), part(6)]
  const [offsetHour, offsetMinute] = [part(9), part(10)]
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  // A day that the month lacks is one of another month.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  if (offsetHour > 23 || offsetMinute > 59) return undefined
  const offset = (offsetHour * 60 + offsetMinute) * (parts[8] === '-' ? -60_000 : 60_000)
  const time = ((hour * 60 + minute) * 60 + second) * 1000 + Math.floor(part(7) * 1000)
  return date.getTime() + time - offset
}

/** Formats a time in UTC; undefined for an invalid one. */
export function instantText(ms: number | undefined): string | undefined {
  if (ms === undefined || !(Math.abs(ms) <= LAST_MS)) return undefined
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
