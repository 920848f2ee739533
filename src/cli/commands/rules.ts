import { flagGroup, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { defineCommand } from '../flags/command.ts'
import type { ProblemFormat } from '../../rules/file/problem-format.ts'
import { parseChoice } from '../flags/units.ts'
import { badCombination, UsageError } from '../flags/usage-error.ts'

const OUTPUT = 'Output:'

const VALIDATE_FLAGS = flagGroup(OUTPUT, {
  json: 'the same as --format json',
  format: ['format', 'text, json, or github for annotations (default: text)'],
})

const SCHEMA_FLAGS = flagGroup(OUTPUT, {
  experiment: 'that of the plans of squall experiment',
})

export const VALIDATE = defineCommand({
  name: 'validate',
  description: 'check rules files and directories of them, - being standard input',
  operands: { form: '[paths...]', most: Infinity },
  flags: VALIDATE_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, paths) => parseValidate(raw, paths),
  start: async ({ files, format }) => {
    const { validateCommand } = await import('../rules/validate.ts')
    return validateCommand(files, { format })
  },
})

export const SCHEMA = defineCommand({
  name: 'schema',
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
    const { schemaCommand } = await import('../rules/schema-command.ts')
    process.stdout.write(schemaCommand())
    return 0
  },
})

export interface ValidateRequest {
  readonly files: readonly string[]
  readonly format: ProblemFormat
}

function parseValidate(raw: RawFlags, files: readonly string[]): ValidateRequest {
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
  return { files, format }
}

/** Returns the error for a missing rules file. */
export function missingFile(command: string): UsageError {
  return new UsageError('MISSING_VALUE', 'no rules file', `see squall ${command} --help`)
}
