const THOUSANDS = /\B(?=(\d{3})+(?!\d))/g

/** A whole number as people read it: `12,345`. */
export function wholeNumber(value: number): string {
  return String(Math.round(value)).replace(THOUSANDS, ',')
}

/** A share in percent, with as many digits as say something. */
export function percentage(share: number | null): string {
  if (share === null) return '-'
  const percent = share * 100
  // 100 % is said only when it is all of it.
  if (percent === 0 || percent === 100) return `${percent} %`
  const digits = percent > 99 || percent < 1 ? 2 : 1
  const text = percent.toFixed(digits)
  if (Number(text) === 100) return '> 99.99 %'
  return Number(text) === 0 ? '< 0.01 %' : `${text} %`
}

/** A latency as people read it. */
export function latency(ms: number | null): string {
  if (ms === null) return '-'
  if (ms < 10) return `${ms.toFixed(2)} ms`
  if (ms < 1000) return `${ms.toFixed(0)} ms`
  return `${(ms / 1000).toFixed(2)} s`
}

/** A plain number with at most two decimals. */
export function plainNumber(value: number | null): string {
  return value === null ? '-' : String(Math.round(value * 100) / 100)
}
