import type { AdminEndpoint } from '../../lab/top/sidecar-view.ts'
import { parseHeaders } from '../load/load-headers.ts'
import { readTokenFlag, parseReadToken } from '../flags/admin-access.ts'
import { parseEndpoints } from '../flags/admin-endpoints.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseTarget } from '../flags/target.ts'

const FLAGS = [
  ...flagGroup('What to check:', {
    target: ['url', 'URL of the MCP endpoint, such as http://localhost:3000/mcp'],
    header: ['name=value', 'header of every request to it; never shown', { repeatable: true }],
    'auth-token-file': ['file', 'file with a token that is sent as Authorization: Bearer'],
    rules: ['path', 'rules file, or a directory of them'],
    admin: [
      'address',
      'admin port of the sidecar, host:port (default: 127.0.0.1:15390, if one runs there)',
    ],
  }),
  ...readTokenFlag('What to check:'),
  ...flagGroup('Output:', { json: 'print the outcome as one JSON document' }),
]

/** The server, the rules and the sidecar to check. */
export interface CheckRequest {
  readonly url: URL | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly authTokenFile: string | undefined
  readonly rules: string | undefined
  /** Undefined for the default port, on which no sidecar needs to run. */
  readonly admin: AdminEndpoint | undefined
  readonly defaultAdmin: AdminEndpoint
  readonly readToken: string | undefined
  readonly json: boolean
}

export const CHECK = defineCommand({
  name: 'check',
  examples: [
    'check --target http://localhost:3000/mcp --rules rules.yaml',
    'check --admin 127.0.0.1:15390 --json',
  ],
  page: 'docs/guides/faults-do-not-fire.md',
  description: 'check server, rules and sidecar on this machine, and name the next step',
  flags: FLAGS,
  note: `
No tool is called, and nothing is changed. Exit code: 1 when a check failed.`,
  parse: parseCheck,
  start: async (request) => (await import('../check.ts')).checkCommand(request),
})

function parseCheck(raw: RawFlags, env: Environment): CheckRequest {
  const flags = new FlagValues(FLAGS, raw, env)
  const target = flags.optional('target')
  const admin = flags.optional('admin')
  return {
    url: target === undefined ? undefined : parseTarget(target),
    headers: parseHeaders(flags.all('header')),
    authTokenFile: flags.optional('auth-token-file')?.text,
    rules: flags.optional('rules')?.text,
    admin: admin === undefined ? undefined : parseEndpoints([admin.text])[0],
    defaultAdmin: parseEndpoints([])[0]!,
    readToken: parseReadToken(flags, env),
    json: flags.switch('json'),
  }
}
