import { basename } from 'node:path'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { badCombination, missing, UsageError } from '../flags/usage-error.ts'

const REPORT_FLAGS = flagGroup('The report:', {
  out: ['file', 'file to write (default: standard output)', { short: 'o' }],
  title: ['text', 'title of the report'],
  name: [
    'text',
    'name of a run, in the order of the files (default: the names of the files)',
    { repeatable: true },
  ],
})

const MERGE_FLAGS = flagGroup('Output:', {
  out: ['file', 'file to write (default: standard output)', { short: 'o' }],
})

export const REPORT_HTML = defineCommand({
  name: 'report html',
  examples: [
    'report html result.json -o report.html',
    'report html before.json after.json --name Before --name After -o compared.html',
  ],
  page: 'docs/guides/reports.md',
  description: 'show results of squall load as one HTML file, side by side',
  operands: { form: '[files...]', most: Infinity },
  flags: REPORT_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, files) => parseReport(raw, files),
  start: async (request) => (await import('../report/report.ts')).reportCommand(request, 'html'),
})

export const REPORT_MARKDOWN = defineCommand({
  name: 'report markdown',
  examples: [
    'report markdown result.json',
    'report markdown before.json after.json -o compared.md',
  ],
  page: 'docs/guides/reports.md',
  description: 'show results of squall load on one page of Markdown',
  operands: { form: '[files...]', most: Infinity },
  flags: REPORT_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, files) => parseReport(raw, files),
  start: async (request) =>
    (await import('../report/report.ts')).reportCommand(request, 'markdown'),
})

export const REPORT_MERGE = defineCommand({
  name: 'report merge',
  examples: [
    'report merge a.json b.json -o all.json',
    'report merge a.json b.json c.json > all.json',
  ],
  page: 'docs/guides/load.md',
  description: 'merge the results of the shards of a load',
  operands: { form: '[files...]', most: Infinity },
  flags: MERGE_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, files) => parseMerge(raw, files),
  start: async (request) => (await import('../report/report.ts')).mergeCommand(request),
})

export type ReportRequest = ReturnType<typeof parseReport>

const MOST_RUNS = 20

function parseReport(raw: RawFlags, files: readonly string[]) {
  if (files.length === 0) {
    throw missing('no results to report', 'name files of squall load --out')
  }
  if (files.length > MOST_RUNS) {
    throw new UsageError(
      'BAD_VALUE',
      `${files.length} runs are too many for one report`,
      `name up to ${MOST_RUNS}, or merge shards with squall report merge`,
    )
  }
  // `SQUALL_OUT` is meant for the load itself.
  const flags = new FlagValues(REPORT_FLAGS, raw, {})
  const names = flags.all('name').map(({ text }) => text)
  if (names.length > files.length) {
    throw badCombination(
      `--name is given ${names.length} times for ${files.length} files`,
      'give one --name for each file, in the same order',
    )
  }
  return {
    runs: files.map((file, i) => ({ file, title: names[i] ?? basename(file, '.json') })),
    out: flags.optional('out')?.text,
    title: flags.optional('title')?.text,
  }
}

export type MergeRequest = ReturnType<typeof parseMerge>

function parseMerge(raw: RawFlags, files: readonly string[]) {
  if (files.length === 0) {
    throw missing('no results to merge', 'name files of squall load --out')
  }
  // `SQUALL_OUT` is meant for the load itself.
  const flags = new FlagValues(MERGE_FLAGS, raw, {})
  return { files, out: flags.optional('out')?.text }
}
