const MAX_TEXT = 120
const NONE = '–'
// Invisible characters could change how others are read.
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu
const ROUND = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Cuts a foreign text, and makes invisible characters visible. */
export function foreign(text, most = MAX_TEXT) {
  const whole = String(text)
  const cut = whole.length > most ? `${whole.slice(0, most)}…` : whole
  return cut.replaceAll(UNSEEN, (marker) => `\\u{${marker.codePointAt(0).toString(16)}}`)
}

/** Formats a count, short where it is large. */
export function count(value) {
  return value < 10_000 ? ROUND.format(value) : SHORT.format(value)
}

/** Formats a share. */
export function percent(share) {
  return share === null ? NONE : `${(share * 100).toFixed(1)} %`
}

/** Formats a number per second. */
export function rate(value) {
  if (value === null || value === undefined) return NONE
  if (value === 0) return '0'
  return value < 10 ? value.toFixed(1) : count(value)
}

/** Formats a duration in seconds. */
export function seconds(value) {
  if (value === null || value === undefined) return NONE
  if (value === 0) return '0 ms'
  if (value < 0.01) return `${(value * 1000).toFixed(1)} ms`
  if (value < 1) return `${(value * 1000).toFixed(0)} ms`
  return `${value.toFixed(value < 10 ? 2 : 1)} s`
}

/** Rounds a duration down to seconds, minutes, hours or days. */
export function span(value) {
  if (value < 60) return `${Math.floor(value)} s`
  if (value < 3600) return `${Math.floor(value / 60)} min`
  const hours = Math.floor(value / 3600)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}

/** Returns the local time of day of an ISO time. */
export function timeOfDay(iso) {
  if (typeof iso !== 'string') return NONE
  return new Date(iso).toLocaleTimeString('en-GB')
}

/** Returns the local time of day, with the date unless it is today's. */
export function moment(iso) {
  if (typeof iso !== 'string') return NONE
  const date = new Date(iso)
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday ? timeOfDay(iso) : `${date.toISOString().slice(0, 10)} ${timeOfDay(iso)}`
}

/** Formats a count with its noun. */
export function many(value, one, more = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : more}`
}
