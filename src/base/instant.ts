/** A point in time as RFC 3339 writes it, with its offset from UTC. */
export const INSTANT_PATTERN =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$'

const PARTS =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const DAY_MS = 86_400_000
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
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  if (offsetHour > 23 || offsetMinute > 59) return undefined
  const offset = (offsetHour * 60 + offsetMinute) * (parts[8] === '-' ? -60_000 : 60_000)
  const time = ((hour * 60 + minute) * 60 + second) * 1000 + Math.floor(part(7) * 1000)
  return daysSinceEpoch(year, month, day) * DAY_MS + time - offset
}

/** Formats a time in UTC; undefined for an invalid one. */
export function instantText(ms: number | undefined): string | undefined {
  if (ms === undefined || !(Math.abs(ms) <= LAST_MS)) return undefined
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

function daysIn(year: number, month: number): number {
  return month === 2 && isLeap(year) ? 29 : MONTH_DAYS[month - 1]!
}

function daysSinceEpoch(year: number, month: number, day: number): number {
  const before = year - 1
  let days = before * 365 + Math.floor(before / 4) - Math.floor(before / 100)
  days += Math.floor(before / 400) - 719_162
  for (let each = 1; each < month; each++) days += daysIn(year, each)
  return days + day - 1
}
