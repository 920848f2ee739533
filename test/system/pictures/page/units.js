/** Grafana's colours that have a name in the dashboards, as they are in its dark theme. */
const NAMED = {
  orange: '#FF9830',
  'dark-orange': '#FA6400',
  yellow: '#FADE2A',
  green: '#73BF69',
}

/** A value as Grafana writes it with this unit. */
export function formatted(value, unit, decimals) {
  if (value === null || value === undefined) return '–'
  switch (unit) {
    case 's':
      return seconds(value, decimals)
    case 'percentunit':
      return `${rounded(value * 100, decimals)}%`
    case 'bytes':
      return scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB'], decimals)
    case 'reqps':
      return scaled(value, 1000, ['req/s', 'K req/s'], decimals)
    case 'ops':
      return scaled(value, 1000, ['ops/s', 'K ops/s'], decimals)
    default:
      return scaled(value, 1000, ['', 'K', 'Mil', 'Bil'], decimals).trim()
  }
}

function seconds(value, decimals) {
  const size = Math.abs(value)
  if (size === 0) return '0 s'
  if (size < 1e-3) return `${rounded(value * 1e6, decimals)} µs`
  if (size < 1) return `${rounded(value * 1e3, decimals)} ms`
  if (size < 60) return `${rounded(value, decimals)} s`
  return size < 3600 ? `${rounded(value / 60, decimals)} min` : `${rounded(value / 3600)} hours`
}

function scaled(value, base, names, decimals) {
  let index = 0
  let left = value
  while (Math.abs(left) >= base && index < names.length - 1) {
    left /= base
    index++
  }
  return `${rounded(left, decimals)} ${names[index]}`
}

/** Three digits that count, unless it is told how many there are behind the point. */
function rounded(value, decimals) {
  if (decimals !== undefined && decimals !== null) return value.toFixed(decimals)
  const digits = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)))
  return String(Number(value.toFixed(Math.min(6, Math.max(0, 2 - digits)))))
}

/** A colour of a dashboard as a browser knows it. */
export function browserColour(colour) {
  return NAMED[colour] ?? colour
}

/** The colour of the highest step that a value reaches. */
export function stepColour(steps, value) {
  const reached = steps.filter((step) => step.value === null || value >= step.value)
  return browserColour((reached.at(-1) ?? steps[0]).color)
}
