import { readTokenFlag, readTokenOf } from '../flags/admin-access.ts'
import { parseEndpoints } from '../flags/admin-endpoints.ts'
import { defineCommand } from '../flags/command.ts'
import { group } from '../flags/flag.ts'
import { asText, one, toggle } from '../flags/kinds.ts'
import { headerFlags, parseTarget } from '../flags/server.ts'

const WHAT = 'What to check:'

export const CHECK = defineCommand({
  name: 'check',
  examples: [
    'check --target http://localhost:3000/mcp --rules rules.yaml',
    'check --admin 127.0.0.1:15390 --json',
  ],
  page: 'docs/guides/faults-do-not-fire.md',
  description: 'check server, rules and sidecar on this machine, and name the next step',
  flags: {
    ...group(WHAT, {
      target: one('url', 'URL of the MCP endpoint, such as http://localhost:3000/mcp', (given) =>
        parseTarget(given),
      ),
    }),
    ...headerFlags(WHAT),
    ...group(WHAT, {
      rules: one('path', 'rules file, or a directory of them', asText),
      admin: one(
        'address',
        'admin port of the sidecar, host:port (default: 127.0.0.1:15390, if one runs there)',
        ({ text }) => parseEndpoints([text])[0]!,
      ),
    }),
    ...readTokenFlag(WHAT),
    ...group('Output:', { json: toggle('print the outcome as one JSON document') }),
  },
  note: `
No tool is called, and nothing is changed. Exit code: 1 when a check failed.`,
  parse: (flags, { env }) => ({
    url: flags.target,
    headers: flags.header,
    authTokenFile: flags.authTokenFile,
    rules: flags.rules,
    admin: flags.admin,
    defaultAdmin: parseEndpoints([])[0]!,
    readToken: readTokenOf(flags.adminReadTokenFile, env),
    json: flags.json,
  }),
  start: async (request) => (await import('../check.ts')).checkCommand(request),
})
