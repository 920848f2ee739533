import { type Fields, foreign, instantText, quoted, textsOf } from '#base'
import { lastChange } from './config-map-rules.ts'

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const WINDOW =
  /^(sun|mon|tue|wed|thu|fri|sat)(?:-(sun|mon|tue|wed|thu|fri|sat))? ([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]|24):([0-5]\d)$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)$/
const KEYS =
  'freeze, windows, experiments, experimentsPerHour, prometheus, query, above, below, temporaryFaults, by or reason'
const KEY = new RegExp(`^(${KEYS.replace(/, | or /g, '|')})(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`)
const MOST_WINDOWS = 64
const COUNT = /^\d{1,6}$/
const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/
/** The forms of values that no other function parses. */
const FORMS = [
  ['experiments', COUNT, 'a number such as 2'],
  ['experimentsPerHour', COUNT, 'a number such as 6'],
  ['above', NUMBER, 'a number such as 0.5'],
  ['below', NUMBER, 'a number such as 0.01'],
  ['temporaryFaults', /^(?:true|false)$/, 'true or false'],
] as const

/** New chaos: where, and at which time of the API server. */
export interface NewChaos {
  readonly namespace: string
  readonly now: number
  readonly prefix: string
}

type Window = NonNullable<ReturnType<typeof parseWindow>>
/** The keys of a budget with one suffix, as new chaos meets them. */
export type BudgetScope = ReturnType<typeof scopesOf>[number]

/** Returns the keys for the namespace alone, and those for the cluster. */
export function scopesOf(budget: Fields, chaos: NewChaos) {
  const data = textsOf(budget['data'])
  const scope = (suffix: string) => {
    /** Returns the value of a key; empty values count as none. */
    const get = (name: string): string | undefined => data[`${name}${suffix}`]?.trim()
    /** Returns the reason, and who set a key, as the end of a message. */
    const author = (name: string): string => {
      const [reason, by] = [get('reason'), get('by')]
      const set = by ? `by ${foreign(by)}` : lastChange(budget, `${name}${suffix}`, chaos.prefix)
      return `${reason ? `: ${foreign(reason)}` : ''}; set ${set}`
    }
    return { chaos, suffix, get, author }
  }
  return [scope(`.${chaos.namespace}`), scope('')] as const
}

/**
 * Decides whether new chaos may begin by the clock; returns why not, with who set that and until
 * when. A budget that cannot be understood allows nothing.
 */
export function decideBudget(budget: Fields, chaos: NewChaos): string | undefined {
  const scopes = scopesOf(budget, chaos)
  const [own, cluster] = scopes
  const denial = invalidBudget(budget, scopes) ?? decideFreeze(own) ?? decideFreeze(cluster)
  if (denial !== undefined) return denial
  // The windows of a namespace replace those of the cluster.
  return decideWindows(own.get('windows') === undefined ? cluster : own)
}

/** Decides whether the sidecars of new pods may take temporary faults; returns why not. */
export function decideTemporaryFaults(budget: Fields, chaos: NewChaos): string | undefined {
  const scopes = scopesOf(budget, chaos)
  const [own, cluster] = scopes
  const invalid = invalidBudget(budget, scopes)
  if (invalid !== undefined) return invalid
  const name = 'temporaryFaults'
  const { get, suffix, author } = own.get(name) ? own : cluster
  if (get(name) === 'true') return undefined
  return `sidecars take no temporary faults unless ${name}${suffix} was true when their pod was created${author(name)}`
}

/** Returns the first error of a budget, which then allows nothing. */
function invalidBudget(budget: Fields, scopes: readonly BudgetScope[]): string | undefined {
  const unknown = Object.keys(textsOf(budget['data'])).find((key) => !KEY.test(key))
  if (unknown !== undefined) {
    return `unknown key ${foreign(unknown)}; use ${KEYS}, with an optional namespace suffix such as freeze.shop`
  }
  for (const { get, suffix } of scopes) {
    for (const [name, form, wanted] of FORMS) {
      const text = get(name)
      if (text && !form.test(text)) return `${name}${suffix} must be ${wanted}; got ${quoted(text)}`
    }
  }
  return undefined
}

function decideFreeze({ chaos: { now }, suffix, get, author }: BudgetScope): string | undefined {
  const key = `freeze${suffix}`
  const text = get('freeze')
  if (!text || text === 'false') return undefined
  const until = INSTANT.test(text) ? Date.parse(text) : NaN
  if (text !== 'true' && Number.isNaN(until)) {
    return `${key} must be true, false or a time such as 2026-12-24T00:00:00Z; got ${quoted(text)}`
  }
  if (until <= now) return undefined
  const end = text === 'true' ? `until ${key} is removed` : `until ${instantText(until)}`
  return `frozen ${end}${author('freeze')}`
}

function decideWindows({ chaos: { now }, suffix, get, author }: BudgetScope): string | undefined {
  const text = get('windows')
  if (!text) return undefined
  const windows = text.split(',').map((each) => parseWindow(each.trim()))
  if (windows.length > MOST_WINDOWS || windows.includes(undefined)) {
    return `windows${suffix} must be a list such as mon-fri 09:00-16:00, sat 10:00-24:00, each within one UTC day; got ${quoted(text)}`
  }
  const opens = nextOpening(windows as readonly Window[], now)
  if (opens <= now) return undefined
  const end = opens === Infinity ? 'always' : `until ${instantText(opens)}`
  return `closed ${end}, outside the windows ${foreign(text)} UTC${author('windows')}`
}

/** Returns a time of the week, in UTC: days from Sunday, minutes of the day. */
function parseWindow(text: string) {
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
