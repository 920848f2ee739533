import type { ProblemFormat } from '../../rules/file/problem-format.ts'
import { defineCommand } from '../flags/command.ts'
import { group } from '../flags/flag.ts'
import { one, oneOf, toggle } from '../flags/kinds.ts'
import { invalidCombination, missing, type UsageError } from '../flags/usage-error.ts'

const OUTPUT = 'Output:'
const FORMATS: readonly ProblemFormat[] = ['text', 'json', 'github']

export const VALIDATE = defineCommand({
  name: 'validate',
  examples: ['validate rules.yaml', 'validate rules/', 'validate --together rules/'],
  page: 'docs/concepts/rules.md',
  description: 'check rules files and directories; - is standard input',
  operands: { form: '[paths...]', most: Infinity },
  flags: group(OUTPUT, {
    json: toggle('the same as --format json'),
    format: one('format', 'text, json, or github for annotations (default: text)', oneOf(FORMATS)),
    together: toggle('check the files of a directory as one set, as squall run --rules reads them'),
  }),
  fromEnvironment: false,
  parse: ({ json, format: given, together }, { operands: files }) => {
    if (files.length === 0) throw missingFile('validate')
    const format = given ?? (json ? 'json' : 'text')
    if (json && format !== 'json') {
      throw invalidCombination(
        `--json and --format ${format} contradict each other`,
        'leave one of the two out',
      )
    }
    return { files, format, together }
  },
  start: async ({ files, ...options }) => {
    const { validateCommand } = await import('../rules/validate.ts')
    return validateCommand(files, options)
  },
})

export const SCHEMA = defineCommand({
  name: 'schema',
  examples: ['schema > rules.schema.json', 'schema --experiment > experiment.schema.json'],
  page: 'docs/concepts/rules.md',
  description: 'print the JSON Schema of rules files, experiments or policies, for editors',
  flags: group(OUTPUT, {
    experiment: toggle('schema of the plans of squall experiment'),
    policy: toggle('schema of the policies of squall policy'),
  }),
  fromEnvironment: false,
  parse: ({ experiment, policy }) => {
    if (!experiment || !policy) return { experiment, policy }
    throw invalidCombination('--experiment and --policy exclude each other', 'name one')
  },
  start: async ({ experiment, policy }) => {
    if (policy) {
      const { policySchemaText } = await import('../../lab/policy/policy-schema.ts')
      process.stdout.write(policySchemaText())
      return 0
    }
    if (experiment) {
      const { planSchemaText } = await import('../../lab/experiment/plan-schema.ts')
      process.stdout.write(planSchemaText())
      return 0
    }
    const { rulesSchemaText } = await import('../../rules/file/schema.ts')
    process.stdout.write(rulesSchemaText())
    return 0
  },
})

/** Returns the error for a missing rules file. */
export function missingFile(command: string): UsageError {
  return missing('no rules file', `see squall ${command} --help`)
}
