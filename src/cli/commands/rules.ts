import { quoted } from '../../base/text/foreign-text.ts'
import type { ProblemFormat } from '../../rules/file/problem-format.ts'
import { defineCommand } from '../flags/command.ts'
import { group } from '../flags/flag.ts'
import { one, oneOf, toggle } from '../flags/kinds.ts'
import { invalidCombination, missing, UsageError } from '../flags/usage-error.ts'

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

/** The text of each schema. */
const SCHEMAS: ReadonlyMap<string, () => Promise<string>> = new Map([
  ['rules', async () => (await import('../../rules/file/schema.ts')).rulesSchemaText()],
  [
    'experiment',
    async () => (await import('../../lab/experiment/plan-schema.ts')).planSchemaText(),
  ],
  ['policy', async () => (await import('../../lab/policy/policy-schema.ts')).policySchemaText()],
])

export const SCHEMA = defineCommand({
  name: 'schema',
  examples: ['schema > rules.schema.json', 'schema experiment > experiment.schema.json'],
  page: 'docs/concepts/rules.md',
  description: 'print the JSON Schema of rules files, experiments or policies, for editors',
  operands: { form: '[rules|experiment|policy]', most: 1 },
  flags: {},
  fromEnvironment: false,
  parse: (_flags, { operands: [name = 'rules'] }) => {
    const text = SCHEMAS.get(name)
    if (text !== undefined) return text
    const fix = `use one of ${[...SCHEMAS.keys()].join(', ')}`
    throw new UsageError('INVALID_VALUE', `there is no schema ${quoted(name)}`, fix)
  },
  start: async (text) => {
    process.stdout.write(await text())
    return 0
  },
})

/** Returns the error for a missing rules file. */
export function missingFile(command: string): UsageError {
  return missing('no rules file', `see squall ${command} --help`)
}
