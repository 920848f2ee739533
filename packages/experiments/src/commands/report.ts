import { basename } from 'node:path'
import type { LoadResult } from '../load/results/result.ts'
import {
  asText,
  type Command,
  defineCommand,
  group,
  invalidCombination,
  many,
  missing,
  one,
  UsageError,
  writeText,
} from '#cli'
import { readAs } from '../cli/read-input.ts'

const MOST_RUNS = 20
const MAX_RESULT = 256 * 1024 * 1024

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

export const REPORT_HTML = reportCommand(
  'html',
  'show results of squall load as one HTML file, side by side',
  [
    'result.json -o report.html',
    'before.json after.json --name Before --name After -o compared.html',
  ],
)

export const REPORT_MARKDOWN = reportCommand(
  'markdown',
  'show results of squall load on one page of Markdown',
  ['result.json', 'before.json after.json -o compared.md'],
)

export const REPORT_MERGE = defineCommand({
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
  start: async ({ files, out }) => {
    const { mergeResults, parseResult } = await import('../load/results/merge-results.ts')
    const results = []
    for (const file of files) {
      results.push(await readAs(file, 'merge', MAX_RESULT, (text) => parseResult(text, file)))
    }
    const merged = mergeResults(results)
    await writeText(out, '--out', `${JSON.stringify(merged)}\n`)
    return merged.slo.every(({ ok }) => ok) ? 0 : 1
  },
})

function reportCommand(
  form: 'html' | 'markdown',
  description: string,
  examples: readonly string[],
): Command {
  return defineCommand({
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
      return { runs, out, title }
    },
    start: async ({ runs, out, title }) => {
      const read = await resultReader()
      const titled = []
      for (const { file, title: name } of runs) {
        const result = await readAs(file, form, MAX_RESULT, (text) => read(text, file))
        titled.push({ title: name, result })
      }
      const write =
        form === 'html'
          ? (await import('../report/write-report.ts')).writeReport
          : (await import('../report/markdown.ts')).reportMarkdown
      await writeText(out, '--out', write(titled, title === undefined ? {} : { title }))
      return 0
    },
  })
}

function resultFiles(files: readonly string[], what: string): readonly string[] {
  if (files.length > 0) return files
  throw missing(`no results to ${what}`, 'name files of squall load --out')
}

/** Loads the modules that read results whose latencies are shown. */
async function resultReader(): Promise<(text: string, file: string) => LoadResult> {
  const { Histogram } = await import('../load/results/histogram.ts')
  const { LoadError } = await import('../load/load-error.ts')
  const { parseResult } = await import('../load/results/merge-results.ts')
  return (text, file) => {
    const result = parseResult(text, file)
    try {
      Histogram.from(result.latency.histogram)
    } catch {
      throw new LoadError(
        'INVALID_INPUT',
        `${file} has latencies that cannot be read`,
        'give files that squall load --out wrote',
      )
    }
    return result
  }
}
