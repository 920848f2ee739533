import type { ProblemFormat } from '../../rules/file/problem.ts'
import { defineCommand } from '../flags/command.ts'
import { group } from '../../base/flags/flag.ts'
import { one, oneOf, toggle } from '../../base/flags/kinds.ts'
import { invalidCombination, missing, type UsageError } from '../../base/flags/usage-error.ts'

const OUTPUT = 'Output:'
const FORMATS: readonly ProblemFormat[] = ['text', 'json', 'github']

export const VALIDATE = defineCommand({
  name: 'validate',
  examples: ['validate rules.yaml', 'validate rules/', 'validate --together rules/'],
  page: 'docs/concepts/rules.md',
  description: 'check rules files and directories; use - for standard input',
  operands: { form: '<paths...>', most: Infinity },
  flags: group(OUTPUT, {
    json: toggle('shorthand for --format json'),
    format: one(
      'format',
      'output format: text, json, or github for annotations (default: text)',
      oneOf(FORMATS),
    ),
    together: toggle('check the files of a directory as one set, as squall run --rules reads them'),
  }),
  fromEnvironment: false,
  parse: ({ json, format: given, together }, { operands: files }) => {
    if (files.length === 0) throw missingFile('validate')
    const format = given ?? (json ? 'json' : 'text')
    if (json && format !== 'json') {
      throw invalidCombination(
        `--json and --format ${format} are mutually exclusive`,
        'remove one of them',
      )
    }
    return { files, format, together }
  },
  start: async ({ files, ...options }) => {
    const { validateCommand } = await import('../rules/validate.ts')
    return validateCommand(files, options)
  },
})

/** Returns the error for a missing rules file. */
export function missingFile(command: string): UsageError {
  return missing('no rules file', `run squall ${command} rules.yaml`)
}
