import { instantText, readInstant } from '../../../base/instant.ts'

const DAY = 86_400_000
const DATE = /^(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d)(?::(\d\d)(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Finds the days in a text. */
export const DAY_IN_TEXT = /(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])/g

/** Moves a date, and keeps the way it is written; undefined for other texts. */
export function shiftedDate(text: string, ms: number): string | undefined {
  const [, day = '', apart = '', time = '00:00', seconds, fraction = '', zone = ''] =
    DATE.exec(text) ?? []
  const from = readInstant(`${day}T${time}:${seconds ?? '00'}Z`)
  const by = apart === '' ? Math.trunc(ms / DAY) * DAY : ms
  const iso = instantText(from === undefined ? undefined : from + by)
  // Years before 0 have a sign and more digits.
  if (iso === undefined || !/^\d{4}-/.test(iso)) return undefined
  if (apart === '') return iso.slice(0, 10)
  const end = seconds === undefined ? 16 : 19
  return iso.slice(0, 10) + apart + iso.slice(11, end) + fraction + zone
}
