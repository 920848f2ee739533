import { replaceUnseen } from '../base/text/foreign-text.ts'

/** Declares one metric for the exposition and the documentation. */
export interface MetricSpec {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds in ascending order, without the infinite one; histograms only. */
  readonly buckets?: readonly number[]
  readonly basic?: readonly number[]
}

/** A format of metrics. */
export type TextFormat = 'prometheus' | 'openmetrics'

/** The last line of each format. */
export const END: Readonly<Record<TextFormat, string>> = {
  prometheus: '',
  openmetrics: '# EOF\n',
}

/** Holds the metrics of one scrape; `text` is the whole body. */
export interface Exposition {
  readonly contentType: string
  readonly body: readonly Uint8Array[]
  readonly text: string
  /** Releases the body for reuse; a caller calls it at most once. */
  readonly done?: () => void
}

/** One line of a metric. */
export interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
}

/** Writes the HELP and TYPE lines of a metric. */
export function familyText(
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

/** Writes the labels between the braces. */
export function labelsText(labels: Readonly<Record<string, string | number>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(',')
}

/** Writes a series up to its value, with the space before the value. */
export function seriesText(name: string, labels: string): string {
  return labels === '' ? `${name} ` : `${name}{${labels}} `
}

/** Writes the sample lines of a metric. */
export function samplesText(name: string, samples: readonly Sample[]): string {
  let text = ''
  for (const { labels, value } of samples) {
    text += `${seriesText(name, labelsText(labels))}${numberText(value)}\n`
  }
  return text
}

/** Writes a value as both formats require it. */
export function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/** Writes the upper bound of a bucket; OpenMetrics requires one spelling of each number. */
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

/** The length of the longest label value, in UTF-16 code units. */
export const MAX_TOOL_LABEL = 128

/** The label of what is counted for all tools together. */
export const ALL_TOOLS = '*'

/** The label of all that exceeds a bound. */
export const OTHER = 'other'

/**
 * Returns a label value for an untrusted name. Applying the function twice changes nothing more,
 * and names with equal labels are one series.
 */
export function toolLabel(name: string): string {
  const cut = name.length > MAX_TOOL_LABEL ? name.slice(0, MAX_TOOL_LABEL) : name
  // Through bytes and back: fixes lone surrogates, and keeps no reference to a long parent string.
  return replaceUnseen(Buffer.from(cut, 'utf8').toString('utf8'), () => '\ufffd')
}
