import {
  asText,
  group,
  one,
  operation,
  parseEndpoints,
  parseListen,
  readTokenOf,
  type RequestOf,
  toggle,
} from '#cli'
import { headerFlags, parseTarget } from '../cli/server-flags.ts'
import { CLUSTER_FLAGS, clusterOf } from '#kubernetes'

const WHAT = 'What to check:'

export const CHECK = operation({
  name: 'check',
  examples: [
    'check --target http://localhost:3000/mcp --rules rules.yaml',
    'check --sidecar 127.0.0.1:15390 --json',
    'check -n shop',
  ],
  page: 'docs/guides/faults-do-not-fire.md',
  description:
    'check a local server, rules and sidecar, or the setup in a cluster, and suggest fixes',
  flags: {
    ...group(WHAT, {
      target: one('url', 'URL of the MCP endpoint, such as http://localhost:3000/mcp', parseTarget),
    }),
    ...headerFlags(WHAT),
    ...group(WHAT, {
      rules: one('path', 'rules file, or directory of rules files', asText),
      sidecar: one(
        'address',
        'admin port of the sidecar, as host:port (default: 127.0.0.1:15390, if a sidecar runs there)',
        ({ text }) => parseEndpoints([text])[0]!,
      ),
      listen: one(
        'address',
        'listen address to check: its port must be free if no sidecar runs',
        parseListen,
        {
          default: '127.0.0.1:15300',
        },
      ),
    }),
    ...CLUSTER_FLAGS,
    ...group('Output:', { json: toggle('print one JSON document') }),
  },
  note: `
With --namespace, --kubeconfig or --context, the command checks the cluster: the API server, your
permissions, the webhook and its certificate, and the sidecars and Services of the namespace.
The command calls no tool and changes nothing. Exit code: 1 if a check failed.`,
  parse: (flags, context) => ({
    url: flags.target,
    headers: flags.header,
    authTokenFile: flags.authTokenFile,
    rules: flags.rules,
    admin: flags.sidecar,
    defaultAdmin: parseEndpoints([])[0]!,
    listen: flags.listen,
    readToken: readTokenOf(flags.adminReadTokenFile, context.env),
    cluster: [flags.namespace, flags.kubeconfig, flags.context].some((each) => each !== undefined)
      ? clusterOf(flags, context)
      : undefined,
    json: flags.json,
  }),
})

export type CheckRequest = RequestOf<typeof CHECK>
