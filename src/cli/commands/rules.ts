import { defineCommand } from '../flags/command.ts'
import { parseExplain } from '../rules/explain-options.ts'
import { EXPLAIN_FLAGS, SCHEMA_FLAGS, VALIDATE_FLAGS } from '../rules/rules-flags.ts'
import { parseValidate } from '../rules/rules-options.ts'

/** `squall validate`. */
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

/** `squall schema`. */
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

/** `squall explain`. */
export const EXPLAIN = defineCommand({
  name: 'explain',
  description:
    'say which rules of a file or directory match a call, what they draw, and what their faults would do to it',
  operands: { form: '[path]', most: 1 },
  flags: EXPLAIN_FLAGS,
  fromEnvironment: false,
  parse: (raw, _env, paths) => parseExplain(raw, paths),
  start: async (request) => {
    const { explainCommand } = await import('../rules/explain.ts')
    return explainCommand(request)
  },
})
