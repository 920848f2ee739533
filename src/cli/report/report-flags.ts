import type { FlagSpec } from '../flags/flag-table.ts'

const REPORT = 'The report:'

/** The options of `squall report html` and `squall report markdown`. */
export const REPORT_FLAGS = [
  {
    name: 'out',
    short: 'o',
    value: 'file',
    group: REPORT,
    help: 'where to write the report; to standard output without it',
  },
  {
    name: 'title',
    value: 'text',
    group: REPORT,
    help: 'what the report is called',
  },
  {
    name: 'name',
    value: 'text',
    repeatable: true,
    group: REPORT,
    help: 'what a run is called, in the order of the files; the names of the files by default',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of these commands. */
export type ReportFlag = (typeof REPORT_FLAGS)[number]['name']
