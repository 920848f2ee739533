import {
  asText,
  duration,
  environmentLabelFlag,
  type FlagInput,
  group,
  invalidCombination,
  invalidOption,
  missing,
  one,
  oneOf,
  operation,
  productionFlags,
  productionOf,
  type RequestOf,
  toggle,
} from '#cli'
import { readVersion } from '#base'
import { BUDGET_FLAGS, CLUSTER_FLAGS, clusterOf, parseObjectName } from '../cli/cluster-options.ts'
import { NEEDS_RULES } from './apply.ts'
import { attachedFor } from './attached.ts'

const PORT = /^(?:\d{1,5}|[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?)$/
// The pod is named, so there is no selector.
const { selector: _selector, ...POD_FLAGS } = CLUSTER_FLAGS

export const ATTACH = operation({
  name: 'attach',
  examples: [
    'attach mcp-server-7d4b9c6f5-2xk8q -n shop -f rules.yaml --for 15m',
    'attach mcp-server-7d4b9c6f5-2xk8q -n shop --undo',
  ],
  page: 'docs/guides/attach.md',
  description: 'add the sidecar to a running pod for a limited time, without a restart',
  flags: {
    ...group('The rules:', {
      filename: one('file', 'rules file, of at most 64KiB; use - for standard input', asText, {
        short: 'f',
      }),
    }),
    ...group('The sidecar:', {
      undo: toggle('detach the sidecar that an earlier squall attach added'),
      for: attachedFor('time after which the sidecar detaches, at most 24h'),
      port: one(
        'port',
        "port number or name of your MCP server (default: the pod's only declared TCP port)",
        parsePortName,
      ),
      image: one(
        'image',
        'sidecar image (default: squall:VERSION-sidecar, where VERSION is the version of this CLI)',
        asText,
      ),
      imagePullPolicy: one(
        'policy',
        'image pull policy: Always, IfNotPresent or Never',
        oneOf(['Always', 'IfNotPresent', 'Never']),
      ),
    }),
    ...POD_FLAGS,
    ...BUDGET_FLAGS,
    ...productionFlags('The cluster:'),
    ...environmentLabelFlag('The cluster:'),
    ...group('Waiting and output:', {
      timeout: duration(
        'how long to wait for the redirect to start or, with --undo, for the faults to end; a container that starts later does nothing',
        { min: 1_000, max: 600_000 },
        '60s',
      ),
      json: toggle('print one JSON document'),
    }),
  },
  operands: { form: '<pod>', most: 1 },
  note: `
An ephemeral container redirects the port to itself until --for has elapsed, the container exits,
or squall attach --undo detaches it. Open connections stay with your MCP server.`,
  parse: (flags, context) => {
    const [pod] = context.operands
    if (pod === undefined) throw missing('no pod', 'name a pod: kubectl get pods')
    const { filename: file, undo } = flags
    if (undo && file !== undefined) {
      throw invalidCombination('--undo and --filename are mutually exclusive', 'remove one of them')
    }
    if (!undo && file === undefined) throw missing('--filename is missing', NEEDS_RULES)
    return {
      ...flags,
      pod: parseObjectName({ text: pod.replace(/^pods?\//, ''), source: 'the pod' }),
      cluster: clusterOf(flags, context),
      image: flags.image ?? `squall:${readVersion()}-sidecar`,
      production: undo ? undefined : productionOf(flags, context.env),
      budget: flags,
    }
  },
})

export type AttachRequest = RequestOf<typeof ATTACH>

function parsePortName({ text, source }: FlagInput): string {
  if (PORT.test(text)) return text
  throw invalidOption(
    source,
    'not a port',
    'use a port number, or a port name that the pod declares',
  )
}
