const DAY = 86_400_000
const DATE = /^(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d)(?::(\d\d)(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Finds the days in a text. */
export const DAY_IN_TEXT = /(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])/g

/** Returns true for a date of ISO 8601, with or without a time. */
export function isDate(text: string): boolean {
  return DATE.test(text) && shiftedDate(text, 0) === text
}

/** Moves a date, and keeps the way it is written; undefined for other texts. */
export function shiftedDate(text: string, ms: number): string | undefined {
  const [, day = '', apart = '', time = '00:00', seconds, fraction = '', zone = ''] =
    DATE.exec(text) ?? []
  const from = Date.parse(`${day}T${time}:${seconds ?? '00'}Z`)
  const moved = new Date(from + (apart === '' ? Math.trunc(ms / DAY) * DAY : ms))
  if (Number.isNaN(moved.getTime())) return undefined
  const iso = moved.toISOString()
  // Years before 0 and after 9999 have a sign and more digits.
  if (!/^\d{4}-/.test(iso)) return undefined
  if (apart === '') return iso.slice(0, 10)
  const end = seconds === undefined ? 16 : 19
  return iso.slice(0, 10) + apart + iso.slice(11, end) + fraction + zone
}
