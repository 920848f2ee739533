import { plain } from '../base/text/foreign-text.ts'

const HIDDEN = new Set(['level', 'time', 'msg'])

/** Formats a JSON log line for people: time of day, level, message, then fields as key=value. */
export function formatPretty(line: string): string {
  let entry: unknown
  try {
    entry = JSON.parse(line)
  } catch {
    return line
  }
  if (typeof entry !== 'object' || entry === null) return line
  const fields = entry as Readonly<Record<string, unknown>>
  const head = `${timeOfDay(fields['time'])} ${levelOf(fields['level'])} ${text(fields['msg'])}`
  const rest = Object.entries(fields).filter(([key]) => !HIDDEN.has(key))
  const pairs = rest.map(([key, value]) => `${plain(key)}=${valueOf(value)}`)
  return `${[head.trimEnd(), ...pairs].join(' ')}\n`
}

function timeOfDay(time: unknown): string {
  const date = new Date(typeof time === 'string' || typeof time === 'number' ? time : Number.NaN)
  if (Number.isNaN(date.getTime())) return '--:--:--.---'
  const millis = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

function levelOf(level: unknown): string {
  return text(level).toUpperCase().padEnd(5)
}

function valueOf(value: unknown): string {
  if (typeof value !== 'string') return plain(JSON.stringify(value) ?? '')
  return /^[^\s"=]+$/.test(value) ? plain(value) : plain(JSON.stringify(value))
}

function text(value: unknown): string {
  return typeof value === 'string' ? plain(value) : ''
}
