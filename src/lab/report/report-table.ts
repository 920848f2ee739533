import type { Endings } from './endings.ts'
import { foreign } from '../../base/text/foreign-text.ts'
import { INDICATOR_ROWS, indicatorParts, shownIndicator } from './indicator-rows.ts'
import type { TitledRun } from './report.ts'
import { latency, wholeNumber } from './shown-numbers.ts'

export interface Column {
  readonly name: string
  /** Aligns numbers to the right. */
  readonly number?: boolean
}

export interface Cell {
  readonly text: string
  /** A smaller text below. */
  readonly about?: string
  readonly tone?: 'injected' | 'real' | 'good' | 'bad'
  /** Outcomes drawn as a bar instead of the text; `share` is the relative length of the bar. */
  readonly bar?: { readonly endings: Endings; readonly share: number }
}

/** A table, independent of the output format. The first column names the row. */
export interface ReportTable {
  readonly title: string
  readonly about?: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
}

export function cell(text: string): Cell {
  return { text }
}

/** Drops the columns whose cells are all empty or 0, except the first column. */
export function withoutEmpty(table: ReportTable): ReportTable {
  const isKept = (column: number): boolean =>
    column === 0 ||
    table.rows.some((row) => row[column]!.bar !== undefined || hasContent(row[column]!))
  const kept = table.columns.map((_, column) => isKept(column))
  return {
    ...table,
    columns: table.columns.filter((_, column) => kept[column]),
    rows: table.rows.map((row) => row.filter((_, column) => kept[column])),
  }
}

function hasContent({ text }: Cell): boolean {
  return text !== '0' && text !== ''
}

/** Tabulates the indicators, one column per run. */
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

/** Tabulates size and speed, one column per run. */
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

/** Returns the calls per second of a run. */
export function callsPerSecond({
  counts,
  run,
}: Pick<TitledRun['result'], 'counts' | 'run'>): number {
  return run.durationMs === 0 ? 0 : (counts.calls / run.durationMs) * 1000
}
