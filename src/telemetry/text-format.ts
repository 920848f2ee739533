import type { MetricSpec } from './metric-table.ts'

/** The two formats in which metrics are written. */
export type TextFormat = 'prometheus' | 'openmetrics'

/** What each format is called on the wire. */
export const CONTENT_TYPE: Readonly<Record<TextFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** What each format ends with. */
export const END: Readonly<Record<TextFormat, string>> = {
  prometheus: '',
  openmetrics: '# EOF\n',
}

/** One line of a small metric. */
export interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
}

/** The lines that introduce a metric. */
export function headOf(
  { name, type, help }: Pick<MetricSpec, 'name' | 'type' | 'help'>,
  format: TextFormat,
): string {
  const open = format === 'openmetrics'
  // OpenMetrics has the suffix on the samples of a counter, and not on its name.
  const family = open && type === 'counter' ? name.replace(/_total$/, '') : name
  const text = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  const quoted = open ? text.replaceAll('"', '\\"') : text
  return `# HELP ${family} ${quoted}\n# TYPE ${family} ${type}\n`
}

/** Labels as they stand between the braces. */
export function labelsText(labels: Readonly<Record<string, string | number>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(',')
}

/** A series up to its value, with the space before that. */
export function seriesText(name: string, labels: string): string {
  return labels === '' ? `${name} ` : `${name}{${labels}} `
}

/** The lines of a small metric. */
export function samplesText(name: string, samples: readonly Sample[]): string {
  let text = ''
  for (const { labels, value } of samples) {
    text += `${seriesText(name, labelsText(labels))}${numberText(value)}\n`
  }
  return text
}

/** A value as both formats have it. */
export function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/** The upper bound of a bucket; OpenMetrics asks for one spelling of each number. */
export function boundText(bound: number, format: TextFormat): string {
  if (bound === Infinity || format === 'prometheus') return numberText(bound)
  if (bound < 1e-4) return bound.toExponential().replace(/e-(\d)$/, 'e-0$1')
  const text = String(bound)
  return /^\d+$/.test(text) ? `${text}.0` : text
}

function escaped(value: string): string {
  if (!/[\\\n"]/.test(value)) return value
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
