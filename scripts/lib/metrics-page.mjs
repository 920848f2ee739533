import { cell, GENERATED, table } from './markdown.mjs'

/** The reference of all metrics, from their table in the code. */
export async function metricsPage(built) {
  const { LABELS } = await built('src/telemetry/metric-labels.js')
  const { METRICS } = await built('src/telemetry/metric-table.js')
  const { sizeText } = await built('src/base/units.js')
  const metrics = METRICS.map(({ name, type, labels, help, buckets }) => {
    const show = name.endsWith('_bytes') ? sizeText : seconds
    const range = buckets === undefined ? '' : ` Buckets: ${buckets.map(show).join(', ')}.`
    const names = labels.map((label) => `\`${label}\``).join(', ') || '–'
    return [`\`${name}\``, type, names, `${cell(help)}${range}`]
  })
  const labels = Object.entries(LABELS).map(([label, values]) => [`\`${label}\``, cell(values)])
  return `${GENERATED}

# Metrics

Served on the admin port at \`/metrics\`. [telemetry.md](../concepts/telemetry.md) defines outcomes and origins.

${table(['Name', 'Type', 'Labels', 'Meaning'], metrics)}

${table(['Label', 'Values'], labels)}

The default metrics of Node.js are served as well: \`process_*\` and \`nodejs_*\`.
`
}

function seconds(value) {
  const micros = Math.round(value * 1e6)
  if (micros < 1000) return `${micros} µs`
  return micros < 1e6 ? `${micros / 1000} ms` : `${micros / 1e6} s`
}
