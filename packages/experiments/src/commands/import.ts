import { asText, group, missing, one, oneOf, operation, toggle } from '#cli'
import { FORMATS } from '#rules'

export const IMPORT = operation({
  name: 'import',
  examples: [
    'import plan.yaml > rules.yaml',
    'import listener.json --from envoy -o rules.yaml',
    'import scenario.json --as experiment -o plan.yaml',
  ],
  page: 'docs/reference/import.md',
  description: "convert another tool's faults into rules; use - for standard input",
  operands: { form: '<file>', most: 1 },
  flags: {
    ...group('The file:', {
      from: one('format', `format: ${FORMATS.join(', ')} (default: detected)`, oneOf(FORMATS)),
    }),
    ...group('Output:', {
      out: one('file', 'file to write (default: standard output)', asText, { short: 'o' }),
      as: one(
        'form',
        'rules, or experiment: a plan from a scenario with expectedBehavior or assertions (default: rules)',
        oneOf(['rules', 'experiment']),
      ),
      force: toggle('replace the file if it exists'),
      json: toggle('print rules and notes as JSON'),
    }),
  },
  note: `
Fields that are unknown, or that rules cannot express, are printed to standard error with their lines.
If such a field limits a fault, the rule is written with enabled: false.`,
  fromEnvironment: false,
  parse: (flags, { operands: [file] }) => {
    if (file === undefined) throw missing('no file to import', 'see squall import --help')
    return { file, ...flags }
  },
})
