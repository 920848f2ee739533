import { cell, GENERATED, table } from './markdown.mjs'

/** The reference of all metrics, from their table in the code. */
export async function metricsPage(built) {
  const { LABELS } = await built('src/telemetry/metric-labels.js')
  const { METRICS } = await built('src/telemetry/metric-table.js')
  const { sizeText } = await built('src/base/units.js')
  const metrics = METRICS.map(({ name, type, labels, help, buckets, basic = [] }) => {
    const show = name.endsWith('_bytes') ? sizeText : seconds
    const bounds = (buckets ?? []).map((bound) =>
      basic.includes(bound) ? `**${show(bound)}**` : show(bound),
    )
    const range = buckets === undefined ? '' : ` Buckets: ${bounds.join(', ')}.`
    const names = labels.map((label) => `\`${label}\``).join(', ') || '–'
    return [`\`${name}\``, type, names, `${cell(help)}${range}`]
  })
  const labels = Object.entries(LABELS).map(([label, values]) => [`\`${label}\``, cell(values)])
  return `${GENERATED}

# Metrics

Look up a metric that the sidecar serves at \`/metrics\` on the admin port. [Outcomes and origins](../concepts/outcomes.md) explains the terms. See also [labels](#labels), and [which series are served](#detail).

${table(['Name', 'Type', 'Labels', 'Meaning'], metrics)}

## Labels

${table(['Label', 'Values'], labels)}

Squall also serves most default Node.js metrics, \`process_*\` and \`nodejs_*\`.

## Detail

\`--metrics-detail\` of \`squall run\` and \`squall stdio\`, the annotation \`squall.dev/metrics-detail\`, or \`metrics-detail\` under \`sidecar.defaults\` of the chart, select:

- \`basic\`, the default: at most 500 series for 20 tools and 5 rules. Histograms have only the buckets in bold. \`squall_call_duration_seconds\`, \`squall_upstream_duration_seconds\`, \`squall_result_bytes\`, and \`squall_after_fault_total\` except for the verdicts \`runaway\` and \`possible_duplicate\`, aggregate all tools as \`tool="*"\`.
- \`full\`: all buckets, series by tool, and \`squall_errors_total\`; about four times as many series.

Sums and counts over all tools are equal. Dashboards, recording rules and alerts work with both; with \`basic\`, panels of durations by tool show one line for \`*\`. The admin page, \`/api/\` and \`squall top\` always show each tool. Latency objectives by tool from Prometheus need \`full\`.
`
}

function seconds(value) {
  const micros = Math.round(value * 1e6)
  if (micros < 1000) return `${micros} µs`
  return micros < 1e6 ? `${micros / 1000} ms` : `${micros / 1e6} s`
}
