import { foreign } from '../../base/text/foreign-text.ts'
import { INDICATOR_ROWS, indicatorParts, shownIndicator } from './indicator-rows.ts'
import type { TitledRun } from './report.ts'
import type { ReportTable } from './report-table.ts'
import { latency, wholeNumber } from './shown-numbers.ts'

/** The indicators of all runs, one column for each. */
export function indicatorTable(runs: readonly TitledRun[]): ReportTable {
  return {
    title: 'Indicators',
    columns: [
      { name: 'Indicator' },
      ...runs.map(({ title }) => ({
        name: runs.length === 1 ? 'Value' : foreign(title),
        number: true,
      })),
      { name: 'How it is made' },
    ],
    rows: INDICATOR_ROWS.map((row) => [
      { text: row.name, about: row.about },
      ...runs.map(({ result }) => ({
        text: shownIndicator(row, result),
        about: indicatorParts(row, result),
      })),
      { text: row.formula },
    ]),
  }
}

/** Size and speed of all runs, one column for each. */
export function speedTable(runs: readonly TitledRun[]): ReportTable {
  const rows: [string, (run: TitledRun) => string][] = [
    ['Calls', ({ result }) => wholeNumber(result.counts.calls)],
    ['Tasks', ({ result }) => wholeNumber(result.counts.tasks)],
    ['Retries', ({ result }) => wholeNumber(result.counts.retries)],
    ['Calls per second', ({ result }) => wholeNumber(callsPerSecond(result))],
    ['Latency, mean', ({ result }) => latency(result.latency.summary.mean)],
    ['p50', ({ result }) => latency(result.latency.summary.p50)],
    ['p90', ({ result }) => latency(result.latency.summary.p90)],
    ['p95', ({ result }) => latency(result.latency.summary.p95)],
    ['p99', ({ result }) => latency(result.latency.summary.p99)],
    ['p99.9', ({ result }) => latency(result.latency.summary.p999)],
    ['Longest', ({ result }) => latency(result.latency.summary.max)],
  ]
  return {
    title: 'Size and speed',
    columns: [
      { name: 'Figure' },
      ...runs.map(({ title }) => ({
        name: runs.length === 1 ? 'Value' : foreign(title),
        number: true,
      })),
    ],
    rows: rows.map(([name, of]) => [{ text: name }, ...runs.map((run) => ({ text: of(run) }))]),
  }
}

/** Counts the calls that ended in each second. */
export function callsPerSecond({
  counts,
  run,
}: Pick<TitledRun['result'], 'counts' | 'run'>): number {
  return run.durationMs === 0 ? 0 : (counts.calls / run.durationMs) * 1000
}
