import { type Fields, foreign, instantText, quoted, textsOf } from '#base'
import { lastChange } from './config-map-rules.ts'

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const WINDOW =
  /^(sun|mon|tue|wed|thu|fri|sat)(?:-(sun|mon|tue|wed|thu|fri|sat))? ([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]|24):([0-5]\d)$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)$/
const KEY = /^(freeze|windows|by|reason)(?:\.([a-z0-9]([-a-z0-9]*[a-z0-9])?))?$/
const MOST_WINDOWS = 64

/** New chaos: where, and at which time of the API server. */
export interface NewChaos {
  readonly namespace: string
  readonly now: number
  readonly prefix: string
}

/** A time of the week, in UTC: days from Sunday, minutes of the day. */
interface Window {
  readonly days: readonly number[]
  readonly from: number
  readonly to: number
}

/**
 * Decides whether new chaos may begin; returns why not, with who set that and until when. A budget
 * that cannot be understood allows nothing.
 */
export function decideBudget(budget: Fields, chaos: NewChaos): string | undefined {
  const data = textsOf(budget['data'])
  const unknown = Object.keys(data).find((key) => !KEY.test(key))
  if (unknown !== undefined) {
    return `its key ${foreign(unknown)} is not freeze, windows, by or reason, with a namespace as in freeze.shop`
  }
  const { namespace } = chaos
  for (const scope of [`.${namespace}`, '']) {
    const denial = decideFreeze(data, scope, budget, chaos)
    if (denial !== undefined) return denial
  }
  // The windows of a namespace replace those of the cluster.
  return decideWindows(data, `windows.${namespace}` in data ? `.${namespace}` : '', budget, chaos)
}

function decideFreeze(
  data: Readonly<Record<string, string>>,
  scope: string,
  budget: Fields,
  { now, prefix }: NewChaos,
): string | undefined {
  const key = `freeze${scope}`
  const text = data[key]?.trim()
  if (text === undefined || text === '' || text === 'false') return undefined
  const until = INSTANT.test(text) ? Date.parse(text) : NaN
  if (text !== 'true' && Number.isNaN(until)) {
    return `its ${key} ${quoted(text)} is not true, false or a time such as 2026-12-24T00:00:00Z`
  }
  if (until <= now) return undefined
  const end = text === 'true' ? `until ${key} is removed` : `until ${instantText(until)}`
  return `frozen ${end}${authorText(data, scope, budget, key, prefix)}`
}

function decideWindows(
  data: Readonly<Record<string, string>>,
  scope: string,
  budget: Fields,
  { now, prefix }: NewChaos,
): string | undefined {
  const key = `windows${scope}`
  const text = data[key]?.trim()
  if (text === undefined || text === '') return undefined
  const windows = text.split(',').map((each) => parseWindow(each.trim()))
  if (windows.length > MOST_WINDOWS || windows.includes(undefined)) {
    return `its ${key} ${quoted(text)} is not a list such as mon-fri 09:00-16:00, sat 10:00-24:00, each within a day of UTC`
  }
  const opens = nextOpening(windows as readonly Window[], now)
  if (opens <= now) return undefined
  const end = opens === Infinity ? 'always' : `until ${instantText(opens)}`
  return `closed ${end}, outside of the windows ${foreign(text)} UTC${authorText(data, scope, budget, key, prefix)}`
}

function parseWindow(text: string): Window | undefined {
  const match = WINDOW.exec(text)
  if (match === null) return undefined
  const [, first = '', last = first, hour, minute, endHour, endMinute] = match
  const from = Number(hour) * 60 + Number(minute)
  const to = Number(endHour) * 60 + Number(endMinute)
  if (to <= from || to > 24 * 60) return undefined
  const length = (DAYS.indexOf(last) - DAYS.indexOf(first) + 7) % 7
  const days = Array.from({ length: length + 1 }, (_, day) => (DAYS.indexOf(first) + day) % 7)
  return { days, from, to }
}

/** Returns the first moment from `now` on that is in a window. */
function nextOpening(windows: readonly Window[], now: number): number {
  const midnight = Math.floor(now / DAY_MS) * DAY_MS
  let next = Infinity
  for (let day = 0; day <= 7; day++) {
    const start = midnight + day * DAY_MS
    for (const { days, from, to } of windows) {
      const end = start + to * MINUTE_MS
      if (!days.includes(new Date(start).getUTCDay()) || end <= now) continue
      next = Math.min(next, Math.max(now, start + from * MINUTE_MS))
    }
  }
  return next
}

function authorText(
  data: Readonly<Record<string, string>>,
  scope: string,
  budget: Fields,
  key: string,
  prefix: string,
): string {
  const reason = data[`reason${scope}`]
  const by = data[`by${scope}`]
  const set = by === undefined ? lastChange(budget, key, prefix) : `by ${foreign(by)}`
  return `${reason === undefined ? '' : `: ${foreign(reason)}`}; set ${set}`
}
