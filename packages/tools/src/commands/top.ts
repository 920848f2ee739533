import {
  adminTokenOf,
  asText,
  group,
  one,
  operation,
  parseEndpoints,
  readTokenFlag,
  readTokenOf,
  type RequestOf,
  toggle,
} from '#cli'

export const TOP = operation({
  name: 'top',
  examples: ['top', 'top 127.0.0.1:15390 127.0.0.1:15391', 'top --once --json'],
  page: 'docs/guides/top.md',
  description: 'watch sidecars live in a terminal: state, injected faults, origin of errors',
  operands: { form: '[addresses...]', most: Infinity },
  flags: {
    ...group('Output:', {
      once: toggle('print one snapshot and exit; the exit code is 1 if a sidecar did not respond'),
      json: toggle('print one line of JSON per second'),
    }),
    ...readTokenFlag('Reading:'),
    ...group('Changes:', {
      adminTokenFile: one(
        'path',
        'file with the token for arming and disarming (or set SQUALL_ADMIN_TOKEN)',
        asText,
      ),
    }),
  },
  note: `
Addresses are host:port or http://host:port of admin ports (default: 127.0.0.1:15390). Press ? for the keys.
Without a terminal, the command prints one line per sidecar and second.`,
  parse: ({ once, json, adminTokenFile, adminReadTokenFile }, { env, operands }) => ({
    endpoints: parseEndpoints(operands),
    json,
    once,
    token: adminTokenOf(adminTokenFile, env),
    readToken: readTokenOf(adminReadTokenFile, env),
    noColour: (env['NO_COLOR'] ?? '') !== '',
    dumb: env['TERM'] === 'dumb',
  }),
})

export type TopRequest = RequestOf<typeof TOP>
