import { flagGroup, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { defineCommand } from '../flags/command.ts'
import type { ProblemFormat } from '../../rules/file/problem-format.ts'
import { parseChoice } from '../flags/units.ts'
import { badCombination, missing, type UsageError } from '../flags/usage-error.ts'

const OUTPUT = 'Output:'

const VALIDATE_FLAGS = flagGroup(OUTPUT, {
  json: 'the same as --format json',
  format: ['format', 'text, json, or github for annotations (default: text)'],
  together: 'check the files of a directory as one set, as squall run --rules reads them',
})

const SCHEMA_FLAGS = flagGroup(OUTPUT, {
  experiment: 'schema of the plans of squall experiment',
})

export const VALIDATE = defineCommand({
  name: 'validate',
  examples: ['validate rules.yaml', 'validate rules/', 'validate --together rules/'],
  page: 'docs/concepts/rules.md',
  description: 'check rules files and directories; - is standard input',
  operands: { form: '[paths...]', most: Infinity },
  flags: VALIDATE_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, paths) => parseValidate(raw, paths),
  start: async ({ files, ...options }) => {
    const { validateCommand } = await import('../rules/validate.ts')
    return validateCommand(files, options)
  },
})

export const SCHEMA = defineCommand({
  name: 'schema',
  examples: ['schema > rules.schema.json', 'schema --experiment > experiment.schema.json'],
  page: 'docs/concepts/rules.md',
  description: 'print the JSON Schema of rules files, or of the plans of experiments, for editors',
  flags: SCHEMA_FLAGS,
  fromEnvironment: false,
  parse: (raw) => raw.has('experiment'),
  start: async (ofExperiments) => {
    if (ofExperiments) {
      const { planSchemaText } = await import('../../lab/experiment/plan-schema.ts')
      process.stdout.write(planSchemaText())
      return 0
    }
    const { rulesSchemaText } = await import('../../rules/file/schema.ts')
    process.stdout.write(rulesSchemaText())
    return 0
  },
})

function parseValidate(raw: RawFlags, files: readonly string[]) {
  const flags = new FlagValues(VALIDATE_FLAGS, raw, {})
  if (files.length === 0) throw missingFile('validate')
  const json = flags.switch('json')
  const given = flags.parsed('format', (each) =>
    parseChoice<ProblemFormat>(each, ['text', 'json', 'github']),
  )
  const format = given ?? (json ? 'json' : 'text')
  if (json && format !== 'json') {
    throw badCombination(
      `--json and --format ${format} contradict each other`,
      'leave one of the two out',
    )
  }
  return { files, format, together: flags.switch('together') }
}

/** Returns the error for a missing rules file. */
export function missingFile(command: string): UsageError {
  return missing('no rules file', `see squall ${command} --help`)
}
