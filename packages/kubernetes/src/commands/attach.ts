import {
  asText,
  type Context,
  defineCommand,
  duration,
  environmentLabelFlag,
  type Given,
  group,
  invalidOption,
  missing,
  one,
  oneOf,
  productionFlags,
  productionOf,
  readVersion,
  toggle,
  type Values,
} from '#cli'
import { CLUSTER_FLAGS, clusterOf, parseObjectName } from '../cli/cluster-options.ts'
import { rulesFileFlag } from './apply.ts'
import { attachedFor } from './attached.ts'

const PORT = /^(?:\d{1,5}|[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?)$/
// The pod is named, so there is no selector.
const { selector: _selector, ...POD_FLAGS } = CLUSTER_FLAGS

const DETACH_FLAGS = {
  ...POD_FLAGS,
  ...waitingFor('time limit for waiting until the sidecar has ended'),
}

export const ATTACH = defineCommand({
  name: 'attach',
  examples: [
    'attach mcp-server-7d4b9c6f5-2xk8q -n shop -f rules.yaml --for 15m',
    'attach mcp-server-7d4b9c6f5-2xk8q -n shop -f rules.yaml --for 5m --json',
  ],
  page: 'docs/guides/attach.md',
  description: 'add the sidecar to a running pod, for a limited time, without a restart',
  flags: {
    ...rulesFileFlag('rules file, of at most 64KiB; - is standard input'),
    ...group('The sidecar:', {
      for: attachedFor('time after which the sidecar detaches by itself, at most 24h'),
      port: one(
        'port',
        'port of your MCP server, by number or name (default: the only TCP port that the pod declares)',
        parsePortName,
      ),
      image: one(
        'image',
        'image of the sidecar (default: squall:VERSION-sidecar, with the version of this program)',
        asText,
      ),
      imagePullPolicy: one(
        'policy',
        'Always, IfNotPresent or Never',
        oneOf(['Always', 'IfNotPresent', 'Never']),
      ),
    }),
    ...POD_FLAGS,
    ...productionFlags('The cluster:'),
    ...environmentLabelFlag('The cluster:'),
    ...waitingFor(
      'time limit for waiting until traffic is redirected; a container that starts later does nothing',
    ),
  },
  operands: { form: '<pod>', most: 1 },
  note: `
An ephemeral container redirects the port to itself until its time has passed, it ends for any reason,
or squall detach ends it. Open connections stay with your MCP server.`,
  parse: (flags, context) => ({
    ...podOf(flags, context),
    file: flags.filename,
    forMs: flags.for,
    port: flags.port,
    image: flags.image ?? `squall:${readVersion()}-sidecar`,
    pullPolicy: flags.imagePullPolicy,
    production: productionOf(flags, context.env),
    environment: flags.environment?.text,
    environmentLabel: flags.environmentLabel,
  }),
  start: async (request) => (await import('../cli/attach.ts')).attachCommand(request),
})

export const DETACH = defineCommand({
  name: 'detach',
  examples: [
    'detach mcp-server-7d4b9c6f5-2xk8q -n shop',
    'detach mcp-server-7d4b9c6f5-2xk8q -n shop --json',
  ],
  page: 'docs/guides/attach.md',
  description: 'end the sidecar that squall attach added to a pod',
  flags: DETACH_FLAGS,
  operands: { form: '<pod>', most: 1 },
  parse: podOf,
  start: async (request) => (await import('../cli/attach.ts')).detachCommand(request),
})

function waitingFor(help: string) {
  return group('Waiting and output:', {
    timeout: duration(help, { min: 1_000, max: 600_000 }, '60s'),
    json: toggle('print the outcome as one JSON document'),
  })
}

function parsePortName({ text, source }: Given): string {
  if (PORT.test(text)) return text
  throw invalidOption(source, 'not a port', 'write its number, or its name in the pod')
}

function podOf(flags: Values<typeof DETACH_FLAGS>, context: Context) {
  const [pod] = context.operands
  if (pod === undefined) throw missing('no pod', 'name a pod: kubectl get pods')
  return {
    pod: parseObjectName({ text: pod.replace(/^pods?\//, ''), source: 'the pod' }),
    cluster: clusterOf(flags, context),
    timeoutMs: flags.timeout,
    json: flags.json,
  }
}
