import { foreign } from '#base'
import { Histogram } from '../load/results/histogram.ts'
import type { LoadResult, TimePoint } from '../load/results/result.ts'
import type { TitledRun } from './report-table.ts'

export interface ChartSeries {
  readonly label: string
  /** The name of the colour in the style sheet. */
  readonly colour: string
  readonly dash?: readonly number[]
  /** Drawn as a line above the bars. */
  readonly line?: boolean
  readonly values: readonly (number | null)[]
}

/** A chart of the page. */
export interface ChartData {
  /** The id of the target element. */
  readonly id: string
  readonly form: 'bars' | 'lines' | 'curve'
  readonly unit: 'count' | 'ms'
  /** Seconds after the start; in a latency curve the rarity of a call: 2 is one in a hundred. */
  readonly x: readonly number[]
  /** The end of the x axis. */
  readonly to: number
  /** The largest value of all charts that are compared with this chart. */
  readonly top: number
  readonly series: readonly ChartSeries[]
}

const LINES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 2]] as const
/** Limits the lines, because more cannot be distinguished. */
const MOST_LINES = LINES.length

export function chartsOf(runs: readonly TitledRun[]): ChartData[] {
  const tops = topsOf(runs.map(({ result }) => result))
  return [
    curve(runs.slice(0, MOST_LINES)),
    ...runs.flatMap(({ result }, run) => [
      callsChart(result, `calls-${run}`, tops.calls),
      errorsChart(result, `errors-${run}`, tops.errors),
      latencyChart(result, `latency-${run}`, tops.latency),
    ]),
  ]
}

function topsOf(results: readonly LoadResult[]) {
  const points = results.flatMap(({ timeline }) => timeline.points)
  const top = (of: (point: TimePoint) => number): number =>
    points.reduce((most, point) => Math.max(most, of(point)), 0)
  return {
    calls: top((point) => Math.max(point.calls, point.dropped, point.retries)),
    errors: top(({ errors }) => Object.values(errors).reduce((a, b) => a + b, 0)),
    latency: top(({ p50, p99 }) => Math.max(p50 ?? 0, p99 ?? 0)),
  }
}

function callsChart(result: LoadResult, id: string, top: number): ChartData {
  const { points } = result.timeline
  const series: ChartSeries[] = [
    bars('Success', '--ok', points, ({ ok }) => ok),
    bars('Injected error', '--injected', points, ({ errors }) => errors.injected),
    bars('Real error', '--real', points, ({ errors }) => errors.real),
    bars(
      'Other',
      '--unattributed',
      points,
      ({ calls, ok, errors }) => calls - ok - errors.injected - errors.real,
    ),
    { ...bars('Retries', '--client', points, ({ retries }) => retries), line: true, dash: [7, 4] },
    { ...bars('Dropped', '--text', points, ({ dropped }) => dropped), line: true, dash: [2, 3] },
  ]
  return barChart(result, id, top, series, 1)
}

function errorsChart(result: LoadResult, id: string, top: number): ChartData {
  const { points } = result.timeline
  const own = ({ errors }: TimePoint): number => errors.squall + errors.client
  const series = [
    bars('Injected', '--injected', points, ({ errors }) => errors.injected),
    bars('Real', '--real', points, ({ errors }) => errors.real),
    bars('Unattributed', '--unattributed', points, ({ errors }) => errors.unattributed),
    bars('Squall or client', '--own', points, own),
  ]
  return barChart(result, id, top, series, 3)
}

/** Returns a bar chart without the series that are all 0, except the first `least`. */
function barChart(
  result: LoadResult,
  id: string,
  top: number,
  all: readonly ChartSeries[],
  least: number,
): ChartData {
  const series = all.filter(({ values }, i) => i < least || values.some((value) => value !== 0))
  return { id, form: 'bars', unit: 'count', ...timesOf(result), top, series }
}

function latencyChart(result: LoadResult, id: string, top: number): ChartData {
  const { points } = result.timeline
  return {
    id,
    form: 'lines',
    unit: 'ms',
    ...timesOf(result),
    top,
    series: [
      { label: 'p99', colour: '--client', values: points.map(({ p99 }) => p99) },
      { label: 'p50', colour: '--client', dash: [7, 4], values: points.map(({ p50 }) => p50) },
    ],
  }
}

/** Returns the latency curve, from the median to the slowest call. */
function curve(runs: readonly TitledRun[]): ChartData {
  const histograms = runs.map(({ result }) => Histogram.from(result.latency.histogram))
  const most = Math.max(1, ...histograms.map(({ count }) => count))
  const to = Math.max(1, Math.log10(most))
  const x = Array.from({ length: 121 }, (_, i) => round((to * i) / 120))
  const values = histograms.map((histogram) => {
    // A hundred calls do not show a quantile of one in a thousand.
    const last = Math.log10(Math.max(1, histogram.count))
    return x.map((rarity) =>
      rarity > last + 1e-9 ? null : histogram.quantile(Math.min(1, 1 - 10 ** -rarity)),
    )
  })
  return {
    id: 'curve',
    form: 'curve',
    unit: 'ms',
    x,
    to,
    top: Math.max(0, ...values.flat().map((value) => value ?? 0)),
    series: runs.map(({ title }, i) => ({
      label: runs.length === 1 ? 'Latency' : foreign(title, 60),
      colour: `--run-${i + 1}`,
      dash: LINES[i]!,
      values: values[i]!,
    })),
  }
}

function bars(
  label: string,
  colour: string,
  points: readonly TimePoint[],
  of: (point: TimePoint) => number,
): ChartSeries {
  return { label, colour, values: points.map(of) }
}

/** Places a point in the middle of its interval. */
function timesOf({ timeline }: LoadResult): Pick<ChartData, 'x' | 'to'> {
  const step = timeline.intervalMs / 1000
  const x = timeline.points.map(({ at }) => round(at / 1000 + step / 2))
  return { x, to: (x.at(-1) ?? 0) + step / 2 }
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
