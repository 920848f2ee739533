const HIDDEN = new Set(['level', 'time', 'msg'])

/** One line for people out of one JSON line: time of day, level, message, then fields as key=value. */
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
  const pairs = rest.map(([key, value]) => `${printable(key)}=${valueOf(value)}`)
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
  if (typeof value !== 'string') return printable(JSON.stringify(value) ?? '')
  return /^[^\s"=]+$/.test(value) ? printable(value) : printable(JSON.stringify(value))
}

function text(value: unknown): string {
  return typeof value === 'string' ? printable(value) : ''
}

// A terminal obeys control characters, and what is logged may come from traffic.
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

function printable(value: string): string {
  return value.replace(
    UNPRINTABLE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
