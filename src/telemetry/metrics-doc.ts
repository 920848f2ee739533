import { LABELS, METRICS, type MetricSpec } from './metric-table.ts'

/** Writes the reference of all metrics as two Markdown tables: series and labels. */
export function metricsMarkdown(): string {
  const specs: readonly MetricSpec[] = METRICS
  const lines = ['| Name | Type | Labels | Meaning |', '| --- | --- | --- | --- |']
  for (const { name, type, labels, help, buckets } of specs) {
    const names = labels.map((label) => `\`${label}\``).join(', ') || '–'
    const range = buckets === undefined ? '' : ` Buckets: ${seconds(buckets)}.`
    lines.push(`| \`${name}\` | ${type} | ${names} | ${cell(help)}${range} |`)
  }
  lines.push('', '| Label | Values |', '| --- | --- |')
  for (const [label, values] of Object.entries(LABELS))
    lines.push(`| \`${label}\` | ${cell(values)} |`)
  return `${lines.join('\n')}\n`
}

function seconds(bounds: readonly number[]): string {
  return bounds.map(duration).join(', ')
}

function duration(value: number): string {
  const micros = Math.round(value * 1e6)
  if (micros < 1000) return `${micros} µs`
  return micros < 1e6 ? `${micros / 1000} ms` : `${micros / 1e6} s`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
