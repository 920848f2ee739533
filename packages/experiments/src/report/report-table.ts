import type { Endings } from './endings.ts'
import { foreign, integerText, latency, plainNumber } from '#base'
import { INDICATOR_ROWS, formulaOf, indicatorParts, shownIndicator } from './indicator-rows.ts'
import type { LoadResult } from '../load/results/result.ts'

/** A run with its title in the report. */
export interface TitledRun {
  readonly title: string
  readonly about?: string
  readonly result: LoadResult
}

export interface ReportAbout {
  readonly title?: string
  /** Sentences that the results do not contain, the most important first. */
  readonly notes?: readonly string[]
  /** HTML above all else; tables and runs are folded below it. */
  readonly front?: string
  /** Tables above those of the runs. */
  readonly tables?: readonly ReportTable[]
}

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
export function withoutEmpty(
  { columns, rows, ...table }: ReportTable,
  always: readonly string[] = [],
): ReportTable {
  const kept = columns.map(
    ({ name }, column) =>
      column === 0 ||
      always.includes(name) ||
      rows.some((row) => row[column]!.bar !== undefined || !['0', ''].includes(row[column]!.text)),
  )
  const keep = <T>(all: readonly T[]): T[] => all.filter((_, column) => kept[column])
  return { ...table, columns: keep(columns), rows: rows.map(keep) }
}

/** Tabulates the indicators, one column per run. */
export function indicatorTable(runs: readonly TitledRun[]): ReportTable {
  return {
    title: 'Indicators',
    columns: [{ name: 'Indicator' }, ...runColumns(runs), { name: 'Formula' }],
    rows: INDICATOR_ROWS.map((row) => [
      { text: row.name, about: row.about },
      ...runs.map(({ result }) => ({
        text: shownIndicator(row, result),
        about: indicatorParts(row, result),
      })),
      { text: formulaOf(row) },
    ]),
  }
}

/** Tabulates size and speed, one column per run. */
export function speedTable(runs: readonly TitledRun[]): ReportTable {
  const rows: [string, (result: LoadResult) => string][] = [
    ['Calls', ({ counts }) => integerText(counts.calls)],
    ['Tasks', ({ counts }) => integerText(counts.tasks)],
    ['Retries', ({ counts }) => integerText(counts.retries)],
    ['Calls per second', (result) => rateText(result)],
    ['Latency, mean', ({ latency: { summary } }) => latency(summary.mean)],
    ['p50', ({ latency: { summary } }) => latency(summary.p50)],
    ['p90', ({ latency: { summary } }) => latency(summary.p90)],
    ['p95', ({ latency: { summary } }) => latency(summary.p95)],
    ['p99', ({ latency: { summary } }) => latency(summary.p99)],
    ['p99.9', ({ latency: { summary } }) => latency(summary.p999)],
    ['Longest', ({ latency: { summary } }) => latency(summary.max)],
  ]
  return {
    title: 'Size and speed',
    columns: [{ name: 'Figure' }, ...runColumns(runs)],
    rows: rows.map(([name, of]) => [
      { text: name },
      ...runs.map((run) => ({ text: of(run.result) })),
    ]),
  }
}

function runColumns(runs: readonly TitledRun[]): readonly Column[] {
  return runs.map(({ title }) => ({
    name: runs.length === 1 ? 'Value' : foreign(title),
    number: true,
  }))
}

/** Formats the calls per second of a run. */
export function rateText({ counts, run }: LoadResult): string {
  const rate = run.durationMs === 0 ? 0 : (counts.calls / run.durationMs) * 1000
  return rate < 10 ? plainNumber(rate) : integerText(rate)
}
