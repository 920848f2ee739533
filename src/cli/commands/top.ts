import type { TopOptions } from '../../lab/top/top.ts'
import { readTokenFlag, parseAdminToken, parseReadToken } from '../flags/admin-access.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseEndpoints } from '../flags/admin-endpoints.ts'

const FLAGS = [
  ...flagGroup('Output:', {
    once: 'print one snapshot and exit; the exit code is 1 if a sidecar did not respond',
    json: 'print one line of JSON per second',
  }),
  ...readTokenFlag('Reading:'),
  ...flagGroup('Changes:', {
    'admin-token-file': [
      'path',
      'file with the token for arming and disarming (or SQUALL_ADMIN_TOKEN itself)',
    ],
  }),
]

export const TOP = defineCommand({
  name: 'top',
  examples: ['top', 'top 127.0.0.1:15390 127.0.0.1:15391', 'top --once --json'],
  page: 'docs/guides/top.md',
  description:
    'watch sidecars in a terminal, by their admin ports: armed or not, injections, origin of errors',
  operands: { form: '[addresses...]', most: Infinity },
  flags: FLAGS,
  note: `
Addresses are host:port or http://host:port (default: 127.0.0.1:15390). ? lists the keys.
Without a terminal it prints one line per sidecar and second.`,
  parse: parseTop,
  start: async (options) => (await import('../../lab/top/top.ts')).top(options),
})

function parseTop(raw: RawFlags, env: Environment, addresses: readonly string[]): TopOptions {
  const flags = new FlagValues(FLAGS, raw, env)
  return {
    endpoints: parseEndpoints(addresses),
    json: flags.switch('json'),
    once: flags.switch('once'),
    token: parseAdminToken(flags, env),
    readToken: parseReadToken(flags, env),
    noColour: (env['NO_COLOR'] ?? '') !== '',
    dumb: env['TERM'] === 'dumb',
  }
}
