import { fieldsOf, listOf } from '#base'
import { askJson, MonitorError } from '../experiment/monitor/ask.ts'
import type { Baseline } from './baseline.ts'
import { CALLS, ERRORS, selector } from './series.ts'

/** Selects series of a Prometheus. */
export interface SeriesChoice {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Labels that the series must have, such as the namespace. */
  readonly labels: Readonly<Record<string, string>>
  /** A duration of PromQL. */
  readonly over: string
}

const MOST_TOOLS = 1_000

/** Reads the behaviour of the tools from a Prometheus. Throws a `MonitorError`. */
export async function prometheusBaselines(choice: SeriesChoice): Promise<readonly Baseline[]> {
  const { labels, over } = choice
  const count = (matchers: readonly string[]) =>
    values(
      choice,
      `sum by (tool) (increase(squall_calls_total${selector(matchers, labels)}[${over}]))`,
    )
  const quantile = (share: number) => {
    const buckets = `squall_upstream_duration_seconds_bucket${selector(['tool!=""'], labels)}`
    return values(
      choice,
      `histogram_quantile(${share}, sum by (le, tool) (increase(${buckets}[${over}])))`,
    )
  }
  const sizes = (part: string) =>
    `sum by (tool) (increase(squall_result_bytes_${part}${selector([], labels)}[${over}]))`
  const [calls, errors, p50, p95, p99, bytes] = await Promise.all([
    count(CALLS),
    count(ERRORS),
    quantile(0.5),
    quantile(0.95),
    quantile(0.99),
    values(choice, `${sizes('sum')} / ${sizes('count')}`),
  ])
  return [...calls]
    .filter(([, many]) => many > 0)
    .map(([tool, many]) => ({
      tool,
      calls: Math.round(many),
      errors: Math.round(errors.get(tool) ?? 0),
      p50: p50.get(tool) ?? null,
      p95: p95.get(tool) ?? null,
      p99: p99.get(tool) ?? null,
      bytes: bytes.get(tool) ?? null,
    }))
}

/** Returns the finite values of a query by tool. */
async function values(
  { url, headers }: SeriesChoice,
  query: string,
): Promise<ReadonlyMap<string, number>> {
  const found = await askJson(url, '/api/v1/query', { query }, { headers })
  const rows = listOf(fieldsOf(fieldsOf(found)['data'])['result'])
  if (rows.length > MOST_TOOLS) {
    throw new MonitorError(`there are more than ${MOST_TOOLS} tools; choose a namespace by labels`)
  }
  const byTool = new Map<string, number>()
  for (const row of rows) {
    const { tool } = fieldsOf(row['metric'])
    const [, text] = Array.isArray(row['value']) ? (row['value'] as readonly unknown[]) : []
    const value = typeof text === 'string' ? Number(text) : Number.NaN
    if (typeof tool === 'string' && Number.isFinite(value)) byTool.set(tool, value)
  }
  return byTool
}
