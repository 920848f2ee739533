import type { Endings } from './endings.ts'

/** A column of a table of the report. */
export interface Column {
  readonly name: string
  /** Numbers stand to the right. */
  readonly number?: boolean
}

/** A cell: its text, and what is to be seen beside it. */
export interface Cell {
  readonly text: string
  /** Smaller, below the text. */
  readonly about?: string
  readonly tone?: 'injected' | 'real' | 'good' | 'bad'
  /** Outcomes that are drawn as a bar instead of the text, with the bar's share of the row. */
  readonly bar?: { readonly endings: Endings; readonly share: number }
}

/** A table of the report, whatever it is written in. The first column names its row. */
export interface ReportTable {
  readonly title: string
  readonly about?: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
}

/** A cell that is nothing but text. */
export function cell(text: string): Cell {
  return { text }
}

/** The columns of which at least one cell says something; the first one is always kept. */
export function withoutEmpty(table: ReportTable): ReportTable {
  const isKept = (column: number): boolean =>
    column === 0 || table.rows.some((row) => row[column]!.bar !== undefined || says(row[column]!))
  const kept = table.columns.map((_, column) => isKept(column))
  return {
    ...table,
    columns: table.columns.filter((_, column) => kept[column]),
    rows: table.rows.map((row) => row.filter((_, column) => kept[column])),
  }
}

function says({ text }: Cell): boolean {
  return text !== '0' && text !== ''
}
