import type { LoadResult } from '../load/results/result.ts'
import { cell, type ReportTable, withoutEmpty } from './report-table.ts'
import { latency, wholeNumber } from './shown-numbers.ts'

/** More rows than this nobody reads, and they are in the file as JSON. */
const MAX_ROWS = 600

/** Tabulates the timeline; undefined when it would be too long. */
export function timeTable({ timeline }: LoadResult): ReportTable | undefined {
  const { points } = timeline
  if (points.length === 0 || points.length > MAX_ROWS) return undefined
  const names = ['Calls', 'OK', 'Injected', 'Real', 'Unattributed', 'Squall’s own', 'Not sent']
  const levels = ['Retries', 'Dropped', 'Under way at its end', 'p50', 'p99']
  return withoutEmpty({
    title: 'What happened when',
    columns: [
      { name: 'From' },
      ...[...names, ...levels].map((name) => ({ name, number: true as const })),
    ],
    rows: points.map((point) => {
      const { injected, real, unattributed, squall, client } = point.errors
      const errors = [injected, real, unattributed, squall, client]
      const levelsNow = [point.retries, point.dropped, point.inFlight]
      const counts = [point.calls, point.ok, ...errors, ...levelsNow]
      return [
        cell(`${point.at / 1000} s`),
        ...counts.map((count) => cell(wholeNumber(count))),
        cell(latency(point.p50)),
        cell(latency(point.p99)),
      ]
    }),
  })
}
