import { basename } from 'node:path'
import {
  asText,
  group,
  invalidCombination,
  many,
  missing,
  one,
  operation,
  type RequestOf,
  toggle,
  UsageError,
} from '#cli'

const MOST_RUNS = 20

const OUT = one('file', 'file to write (default: standard output)', asText, { short: 'o' })

export const LOAD_REPORT = operation({
  name: 'load report',
  examples: [
    'load report result.json -o report.html',
    'load report before.json after.json --name Before --name After -o compared.html',
    'load report before.json after.json --markdown',
  ],
  page: 'docs/guides/reports.md',
  description: 'render load results side by side as one HTML file or Markdown',
  operands: { form: '<files...>', most: Infinity },
  flags: group('The report:', {
    markdown: toggle('write Markdown'),
    out: OUT,
    title: one('text', 'title of the report', asText),
    name: many(
      'text',
      'name of a run, in the order of the files (default: the names of the files)',
      (given) => given.map(asText),
    ),
  }),
  // `SQUALL_OUT` is meant for the load itself.
  fromEnvironment: false,
  parse: ({ markdown, name, out, title }, { operands }) => {
    const files = resultFiles(operands, 'report')
    if (files.length > MOST_RUNS) {
      throw new UsageError(
        'INVALID_VALUE',
        `${files.length} runs are too many for one report`,
        `name up to ${MOST_RUNS}, or merge shards with squall load merge`,
      )
    }
    if (name.length > files.length) {
      throw invalidCombination(
        `got ${name.length} --name values for ${files.length} files`,
        'set --name once for each file, in the same order',
      )
    }
    const runs = files.map((file, i) => ({ file, title: name[i] ?? basename(file, '.json') }))
    return { markdown, runs, out, title }
  },
})

export type ReportRequest = RequestOf<typeof LOAD_REPORT>

export const LOAD_MERGE = operation({
  name: 'load merge',
  examples: ['load merge a.json b.json -o all.json', 'load merge a.json b.json c.json > all.json'],
  page: 'docs/guides/load.md',
  description: 'merge the results of the shards of a load',
  operands: { form: '<files...>', most: Infinity },
  flags: group('Output:', { out: OUT }),
  fromEnvironment: false,
  parse: ({ out }, { operands }) => ({ out, files: resultFiles(operands, 'merge') }),
})

function resultFiles(files: readonly string[], what: string): readonly string[] {
  if (files.length > 0) return files
  throw missing(`no results to ${what}`, 'specify files written by squall load --out')
}
