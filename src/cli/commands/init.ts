import { parseHeaders } from '../load/load-headers.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseTarget } from '../flags/target.ts'

const FLAGS = [
  ...flagGroup('The server:', {
    target: ['url', 'URL of the MCP endpoint, such as http://localhost:3000/mcp'],
    header: ['name=value', 'header of every request; never shown', { repeatable: true }],
    'auth-token-file': ['file', 'file with a token that is sent as Authorization: Bearer'],
  }),
  ...flagGroup('Output:', {
    out: ['file', 'rules file to write; - is standard output', { default: 'rules.yaml' }],
    force: 'replace the file if it exists',
  }),
]

export const INIT = defineCommand({
  name: 'init',
  examples: [
    'init --target http://localhost:3000/mcp',
    'init --target http://localhost:3000/mcp --out -',
  ],
  page: 'docs/get-started/laptop.md',
  description: 'write a first rules file for an MCP server, from its list of tools',
  flags: FLAGS,
  note: `
No tool is called. The first rule fails a tenth of the calls of a tool that declares to be read-only.`,
  parse: parseInit,
  start: async (request) => (await import('../init.ts')).init(request),
})

export type InitRequest = ReturnType<typeof parseInit>

function parseInit(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(FLAGS, raw, env)
  return {
    url: parseTarget(flags.optional('target')),
    headers: parseHeaders(flags.all('header')),
    authTokenFile: flags.optional('auth-token-file')?.text,
    out: flags.required('out').text,
    force: flags.switch('force'),
  }
}
