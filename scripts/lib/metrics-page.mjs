import { cell, GENERATED, table } from './markdown.mjs'

/** Topics of the page: the first whose pattern matches the name of a metric has it. */
const TOPICS = [
  {
    title: 'Calls and latency',
    names: /^squall_(?:calls|errors|call_duration|upstream_duration|result_bytes)/,
    text: 'These metrics count MCP calls by outcome and origin, and measure their latency and the size of tool results.',
  },
  {
    title: 'Rules and faults',
    names:
      /^squall_(?:faults|injected|active|rule|canary|armed|disarmed|guard|invalid|header|fault)/,
    text: 'These metrics show what rules match, sample and inject, whether the rules are armed, and whether the rules file is valid.',
  },
  {
    title: 'Agent behaviour',
    names: /^squall_(?:after_fault|task|falsif)/,
    text: 'These metrics show what agents do after faults and errors. Except for `squall_falsified_total` and `squall_falsified_used_total`, they require `--tasks`, which is on by default.',
  },
  {
    title: 'Dependencies',
    names: /^squall_outbound/,
    text: 'These metrics cover outgoing TCP connections, with `--outbound` and `--captured`, except those to `http://` and `https://` targets.',
  },
  {
    title: 'Other requests, rejections and violations',
    names: /^squall_(?:http_requests|unclassified|rejected|admin_rejected|stdio)/,
    text: 'These metrics count traffic to which rules for calls do not apply, and requests that Squall rejected.',
  },
  {
    title: 'Sidecar health and limits',
    names: /^squall_/,
    text: 'These metrics show the overhead, memory, connections, dropped records and versions of the sidecar.',
  },
]

const START = [
  ['How many calls fail, injected or real?', '`squall_calls_total`, by `outcome` and `origin`'],
  ['Which rules inject faults?', '`squall_faults_injected_total`'],
  ['Why does a rule not inject faults?', '`squall_rule_evaluations_total`, by `result`'],
  ['Can faults be injected now?', '`squall_armed`, `squall_disarmed_reason`'],
  ['Was the last rules file rejected?', '`squall_rules_last_reload_success`'],
  [
    'How slow are calls, and what causes the latency?',
    '`squall_call_duration_seconds`, `squall_upstream_duration_seconds`',
  ],
  ['How much latency does Squall add?', '`squall_overhead_seconds`'],
  ['How do agents react to faults?', '`squall_after_fault_total`, by `verdict`'],
]

/** The reference of all metrics, from their table in the code. */
export async function metricsPage(built) {
  const { LABELS } = await built('src/telemetry/metric-labels.js')
  const { METRICS } = await built('src/telemetry/metric-table.js')
  const { sizeText } = await built('src/base/units.js')
  const topicOf = ({ name }) => TOPICS.find(({ names }) => names.test(name))
  const sections = TOPICS.map((topic) => {
    const rows = METRICS.filter((metric) => topicOf(metric) === topic).map(
      ({ name, type, labels, help }) => {
        const names = labels.map((label) => `\`${label}\``).join(', ') || '–'
        return [`\`${name}\``, type, names, cell(help)]
      },
    )
    const heads = ['Name', 'Type', 'Labels', 'Meaning']
    return `## ${topic.title}\n\n${topic.text}\n\n${table(heads, rows)}`
  })
  const bounded = METRICS.filter(({ buckets }) => buckets !== undefined)
  const histograms = bounded.map(({ name, buckets, basic = [] }) => {
    const show = name.endsWith('_bytes') ? sizeText : seconds
    const bounds = buckets.map((bound) =>
      basic.includes(bound) ? `**${show(bound)}**` : show(bound),
    )
    return [`\`${name}\``, bounds.join(', ')]
  })
  const labels = Object.entries(LABELS).map(([label, values]) => [`\`${label}\``, cell(values)])
  return `${GENERATED}

# Prometheus metrics

Find the Prometheus metric for your question. The sidecar serves all metrics at \`/metrics\` on the admin port. [Outcomes and origins](../concepts/outcomes.md) explains the terms. See also [label values](#label-values), [histogram buckets](#histogram-buckets) and [metric detail](#metric-detail).

${table(['Question', 'Metric'], START)}

${sections.join('\n\n')}

Squall also serves most default Node.js metrics, \`process_*\` and \`nodejs_*\`.

## Label values

${table(['Label', 'Values'], labels)}

## Histogram buckets

The table lists the upper bounds of the histogram buckets. With \`--metrics-detail basic\`, the sidecar serves only the bounds in bold.

${table(['Name', 'Buckets'], histograms)}

## Metric detail

To limit the number of series, set the level of detail with \`--metrics-detail\` (\`squall run\`, \`squall stdio\`), the annotation \`squall.dev/metrics-detail\`, or \`metrics-detail\` under \`sidecar.defaults\` in the chart:

- \`basic\` (default) has about 400 series for 20 tools and 5 rules with one fault each. Histograms have only the buckets in bold. Four metrics aggregate all tools as \`tool="*"\`: \`squall_call_duration_seconds\`, \`squall_upstream_duration_seconds\`, \`squall_result_bytes\`, and \`squall_after_fault_total\` (except for the verdicts \`runaway\` and \`possible_duplicate\`).
- \`full\` has all buckets, series by tool, and \`squall_errors_total\`: about four times as many series.

Sums and counts over all tools are the same in both. Dashboards, recording rules and alerts work with both; with \`basic\`, panels that show durations by tool have a single line for all tools, \`*\`. The admin page, \`/api/\` and \`squall top\` show tools separately at both levels. For latency objectives by tool in Prometheus, set \`full\`.
`
}

function seconds(value) {
  const micros = Math.round(value * 1e6)
  if (micros < 1000) return `${micros} µs`
  return micros < 1e6 ? `${micros / 1000} ms` : `${micros / 1e6} s`
}
