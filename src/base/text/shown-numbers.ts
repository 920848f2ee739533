const THOUSANDS = /\B(?=(\d{3})+(?!\d))/g
const NONE = '-'

/** Formats an integer: `12,345`. */
export function integerText(value: number): string {
  return String(Math.round(value)).replace(THOUSANDS, ',')
}

/** Formats a share in percent with significant digits. */
export function percentage(share: number | null): string {
  if (share === null) return NONE
  const percent = share * 100
  // 100 % is reserved for exactly all.
  if (percent === 0 || percent === 100) return `${percent} %`
  const digits = percent > 99 || percent < 1 ? 2 : 1
  const text = percent.toFixed(digits)
  if (Number(text) === 100) return '> 99.99 %'
  return Number(text) === 0 ? '< 0.01 %' : `${text} %`
}

/** Formats a latency. */
export function latency(ms: number | null): string {
  if (ms === null) return NONE
  if (ms < 10) return `${ms.toFixed(2)} ms`
  if (ms < 1000) return `${ms.toFixed(0)} ms`
  return `${(ms / 1000).toFixed(2)} s`
}

/** Formats a number with at most two decimals. */
export function plainNumber(value: number | null): string {
  return value === null ? NONE : String(Math.round(value * 100) / 100)
}

/** Formats the duration of a run. */
export function duration(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return withRest(minutes, 'min', Math.floor(seconds % 60), 's')
  return withRest(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

function withRest(value: number, unit: string, rest: number, smaller: string): string {
  return rest === 0 ? `${value} ${unit}` : `${value} ${unit} ${rest} ${smaller}`
}

/** Formats a measured value in the unit of its gate. */
export function gateValue(gate: string, measured: number | null): string {
  if (measured === null) return 'nothing'
  if (gate.includes('%')) return percentage(measured)
  return /\d\s*m?s$|\dm$/.test(gate.trim()) ? latency(measured) : plainNumber(measured)
}

/** Formats a time without fractions of a second. */
export function moment(iso: string): string {
  const time = Date.parse(iso)
  if (Number.isNaN(time)) return NONE
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
