import { GENERATED } from './markdown.mjs'

/** The reference of all metrics, from their table in the code. */
export async function metricsPage(built) {
  const { metricsMarkdown } = await built('telemetry/metrics-doc.js')
  return `${GENERATED}

# Metrics

Served on the admin port at \`/metrics\`. How outcomes and origins are decided stands in [telemetry.md](../concepts/telemetry.md).

${metricsMarkdown()}
Node's default metrics are there besides: \`process_*\` and \`nodejs_*\`.
`
}
