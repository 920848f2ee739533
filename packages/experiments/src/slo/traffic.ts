import type { History } from '#admin-api'

type Series = History['series'][number]
type Column = Exclude<keyof Series, 'tool'>

/** The traffic of a tool over a time; latencies are in seconds, and null without calls. */
export interface Traffic {
  /** Undefined for all calls together. */
  readonly tool: string | undefined
  readonly calls: number
  /** Errors that no fault made. */
  readonly realErrors: number
  readonly injectedErrors: number
  readonly p50: number | null
  readonly p95: number | null
  readonly upstreamP50: number | null
  readonly upstreamP95: number | null
}

/** The last seconds of a history. */
export interface Window {
  readonly seconds: number
  readonly traffic: readonly Traffic[]
}

/** The points are of whole steps, so the newest calls are in none. */
export const NEWEST_MISSING =
  'Calls are counted in steps of 5 s: those of the last 5 s may be missing.'

/** Adds up the points of the last seconds. The p50 is their median, the p95 the highest of them. */
export function trafficIn({ stepSeconds, at, series }: History, seconds: number): Window {
  // The first point is compared with nothing.
  const first = Math.max(1, at.length - Math.ceil(seconds / stepSeconds))
  const spans = at.slice(first).map((time, i) => time - at[first + i - 1]!)
  const traffic = series.map((each) => trafficOf(each, first, spans))
  return { seconds: spans.reduce((sum, span) => sum + span, 0), traffic }
}

function trafficOf(series: Series, first: number, spans: readonly number[]): Traffic {
  const points = (name: Column): readonly (number | null)[] => series[name].slice(first)
  const counted = (name: Column): number =>
    points(name).reduce<number>((sum, rate, i) => sum + (rate ?? 0) * spans[i]!, 0)
  const latencies = (name: Column): readonly number[] =>
    points(name)
      .filter((value) => value !== null)
      .toSorted((one, other) => one - other)
  const median = (values: readonly number[]): number | null =>
    values[Math.floor(values.length / 2)] ?? null
  return {
    tool: series.tool,
    calls: Math.round(counted('calls')),
    realErrors: Math.round(counted('real') + counted('squall')),
    injectedErrors: Math.round(counted('injected')),
    p50: median(latencies('p50')),
    p95: latencies('p95').at(-1) ?? null,
    upstreamP50: median(latencies('upstreamP50')),
    upstreamP95: latencies('upstreamP95').at(-1) ?? null,
  }
}
