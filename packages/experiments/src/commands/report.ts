import { basename } from 'node:path'
import { asText, group, invalidCombination, many, missing, one, UsageError } from '#cli'
import { operation, type RequestOf } from './operation.ts'

const MOST_RUNS = 20

const OUT = one('file', 'file to write (default: standard output)', asText, { short: 'o' })

const REPORT_FLAGS = group('The report:', {
  out: OUT,
  title: one('text', 'title of the report', asText),
  name: many(
    'text',
    'name of a run, in the order of the files (default: the names of the files)',
    (given) => given.map(asText),
  ),
})

export const REPORT_HTML = reportOf(
  'html',
  'show results of squall load as one HTML file, side by side',
  [
    'result.json -o report.html',
    'before.json after.json --name Before --name After -o compared.html',
  ],
)

export const REPORT_MARKDOWN = reportOf(
  'markdown',
  'show results of squall load on one page of Markdown',
  ['result.json', 'before.json after.json -o compared.md'],
)

export const REPORT_MERGE = operation({
  name: 'report merge',
  examples: [
    'report merge a.json b.json -o all.json',
    'report merge a.json b.json c.json > all.json',
  ],
  page: 'docs/guides/load.md',
  description: 'merge the results of the shards of a load',
  operands: { form: '[files...]', most: Infinity },
  flags: group('Output:', { out: OUT }),
  // `SQUALL_OUT` is meant for the load itself.
  fromEnvironment: false,
  parse: ({ out }, { operands }) => ({ out, files: resultFiles(operands, 'merge') }),
})

export type ReportRequest = RequestOf<typeof REPORT_HTML>

function reportOf(form: 'html' | 'markdown', description: string, examples: readonly string[]) {
  return operation({
    name: `report ${form}`,
    examples: examples.map((each) => `report ${form} ${each}`),
    page: 'docs/guides/reports.md',
    description,
    operands: { form: '[files...]', most: Infinity },
    flags: REPORT_FLAGS,
    // `SQUALL_OUT` is meant for the load itself.
    fromEnvironment: false,
    parse: ({ name, out, title }, { operands }) => {
      const files = resultFiles(operands, 'report')
      if (files.length > MOST_RUNS) {
        throw new UsageError(
          'INVALID_VALUE',
          `${files.length} runs are too many for one report`,
          `name up to ${MOST_RUNS}, or merge shards with squall report merge`,
        )
      }
      if (name.length > files.length) {
        throw invalidCombination(
          `--name is given ${name.length} times for ${files.length} files`,
          'give one --name for each file, in the same order',
        )
      }
      const runs = files.map((file, i) => ({ file, title: name[i] ?? basename(file, '.json') }))
      return { form, runs, out, title }
    },
  })
}

function resultFiles(files: readonly string[], what: string): readonly string[] {
  if (files.length > 0) return files
  throw missing(`no results to ${what}`, 'name files of squall load --out')
}
