import { quoted } from '#base'
import { defineCommand, UsageError } from '#cli'

/** The text of each schema. */
const SCHEMAS: ReadonlyMap<string, () => Promise<string>> = new Map([
  ['rules', async () => (await import('../cli/schemas.ts')).rulesSchemaText()],
  ['experiment', async () => (await import('../experiment/plan-schema.ts')).planSchemaText()],
  ['policy', async () => (await import('../cli/schemas.ts')).policySchemaText()],
  ['tape', async () => (await import('../tape/tape-schema.ts')).tapeSchemaText()],
])

export const SCHEMA = defineCommand({
  name: 'schema',
  examples: ['schema > rules.schema.json', 'schema experiment > experiment.schema.json'],
  page: 'docs/concepts/rules.md',
  description: 'print the JSON Schema of rules files, experiments, policies or lines of tapes',
  operands: { form: '[rules|experiment|policy|tape]', most: 1 },
  flags: {},
  fromEnvironment: false,
  parse: (_flags, { operands: [name = 'rules'] }) => {
    const text = SCHEMAS.get(name)
    if (text !== undefined) return text
    const fix = `use one of ${[...SCHEMAS.keys()].join(', ')}`
    throw new UsageError('INVALID_VALUE', `unknown schema ${quoted(name)}`, fix)
  },
  start: async (text) => {
    process.stdout.write(await text())
    return 0
  },
})
