import type { History } from '#admin-api'
import { askPrometheus, MonitorError } from '#protocol'
import { CALLS, ERRORS, selector } from './series.ts'

type Series = History['series'][number]
type Column = Exclude<keyof Series, 'tool'>

export type Traffic = ReturnType<typeof trafficOf>

/** The points are of whole steps, so the newest calls are in none. */
export const NEWEST_MISSING =
  'Calls are counted in steps of 5 s, so calls of the last 5 s may be missing.'

/** Adds up the points of the last seconds. The p50 is their median, the p95 the highest of them. */
export function trafficIn({ stepSeconds, at, series }: History, seconds: number) {
  // The first point is compared with nothing.
  const first = Math.max(1, at.length - Math.ceil(seconds / stepSeconds))
  const spans = at.slice(first).map((time, i) => time - at[first + i - 1]!)
  const traffic = series.map((each) => trafficOf(each, first, spans))
  return { seconds: spans.reduce((sum, span) => sum + span, 0), traffic }
}

/** Returns the traffic of a tool, or of all calls; latencies are in seconds, and null without calls. */
function trafficOf(series: Series, first: number, spans: readonly number[]) {
  const points = (name: Column): readonly (number | null)[] => series[name].slice(first)
  const counted = (name: Column): number =>
    points(name).reduce<number>((sum, rate, i) => sum + (rate ?? 0) * spans[i]!, 0)
  const latencies = (name: Column): readonly number[] =>
    points(name)
      .filter((value) => value !== null)
      .toSorted((one, other) => one - other)
  const median = (all: readonly number[]): number | null => all[Math.floor(all.length / 2)] ?? null
  return {
    tool: series.tool,
    calls: Math.round(counted('calls')),
    // Errors that no fault made.
    realErrors: Math.round(counted('real') + counted('squall')),
    injectedErrors: Math.round(counted('injected')),
    p50: median(latencies('p50')),
    p95: latencies('p95').at(-1) ?? null,
    upstreamP50: median(latencies('upstreamP50')),
    upstreamP95: latencies('upstreamP95').at(-1) ?? null,
  }
}

/**
 * The behaviour of a tool over a time, without what faults ended. Latencies are in seconds; null is
 * for what is not known.
 */
export interface Baseline {
  readonly tool: string
  readonly calls: number
  readonly errors: number
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
  /** The mean size of a result. */
  readonly bytes: number | null
  /** True where the series have latencies of all tools together. */
  readonly isBasic?: boolean
}

/** Explains why there is no latency of a tool. */
export const NEEDS_FULL =
  'the series contain latencies and sizes only for all tools together (tool="*"); values by tool require sidecars with --metrics-detail full'

/** The time that a sidecar remembers. */
const HISTORY_SECONDS = 900

/** Returns the behaviour of the tools in the last minutes of a sidecar. */
export function baselinesOf(history: History): readonly Baseline[] {
  return trafficIn(history, HISTORY_SECONDS).traffic.flatMap((each) => {
    const calls = each.calls - each.injectedErrors
    if (!each.tool || calls <= 0) return []
    const { tool, realErrors: errors, upstreamP50: p50, upstreamP95: p95 } = each
    return [{ tool, calls, errors, p50, p95, p99: null, bytes: null }]
  })
}

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
  const isBasic = p95.has('*')
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
      ...(isBasic && !p95.has(tool) && { isBasic }),
    }))
}

/** Returns the finite values of a query by tool. */
async function values(
  { url, headers }: SeriesChoice,
  query: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await askPrometheus(url, query, { headers })
  if (rows.length > MOST_TOOLS) {
    throw new MonitorError(`there are more than ${MOST_TOOLS} tools; choose a namespace by labels`)
  }
  const byTool = new Map<string, number>()
  for (const { labels, value } of rows) {
    if (labels['tool'] !== undefined && Number.isFinite(value)) byTool.set(labels['tool'], value)
  }
  return byTool
}
