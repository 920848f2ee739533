import type { TUnsafe } from 'typebox'
import { CIDR_FORMAT, duration, GLOB_FORMAT, oneOf, percentage, section } from '#rules'
import * as Type from 'typebox'

/** Declares a text. */
export const text = (description: string, maxLength = 1024): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', minLength: 1, maxLength, description })

/** Declares an integer. */
export const number = (minimum: number, maximum: number, options: object): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'integer', minimum, maximum, ...options })

const objectName = (description: string, more: object = {}): TUnsafe<string> =>
  Type.Unsafe<string>({
    type: 'string',
    pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
    maxLength: 253,
    description,
    ...more,
  })

const kubernetes = section(
  {
    context: Type.Optional(
      text('Name of the kubeconfig context. Default: the current context.', 253),
    ),
    namespace: objectName('Namespace of the pods.'),
    deployment: Type.Optional(objectName('Deployment whose pods the experiment uses.')),
    selector: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 63 },
        minProperties: 1,
        maxProperties: 20,
        description: 'Labels that select the pods to use, instead of `deployment`.',
        examples: [{ app: 'shop' }],
      }),
    ),
    configMap: objectName("ConfigMap with the pods' rules.", { default: 'squall-rules' }),
    key: Type.Unsafe<string>({
      type: 'string',
      pattern: '^[A-Za-z0-9._-]{1,249}[.](yaml|yml|json)$',
      default: 'rules.yaml',
      description: 'Key of the ConfigMap that the experiment replaces, and restores at the end.',
    }),
    min: percentage({
      default: 90,
      description: 'Minimum percentage of ready pods whose sidecars respond.',
    }),
  },
  { description: 'The pods to use, whose sidecars read their rules from a ConfigMap.' },
)

export const sidecar = section(
  {
    admin: Type.Optional(text("URL of the sidecar's admin port.")),
    rulesFile: Type.Optional(
      text(
        "The sidecar's rules file (`--rules`), which the experiment replaces and restores at the end.",
      ),
    ),
    kubernetes: Type.Optional(kubernetes),
    replaceRules: Type.Boolean({
      default: false,
      description:
        'If other rules are active, suspends them during the experiment instead of rejecting the plan.',
    }),
    expiry: duration({
      default: '30s',
      description:
        'Time after which the rules expire if the experiment process dies; renewed while the experiment runs.',
    }),
  },
  {
    description:
      'The sidecar in front of the MCP endpoint: `admin` and `rulesFile`, or pods with `kubernetes`.',
    examples: [{ admin: 'http://127.0.0.1:15390', rulesFile: './rules.yaml' }],
  },
)

export const kill = section(
  {
    pidFile: Type.Optional(text('Path of the PID file of the process.')),
    command: Type.Optional(
      text(
        'Text that the command line of the process must contain, in case the PID was reused.',
        256,
      ),
    ),
    pod: Type.Optional(number(1, 1000, { description: 'Number of pods to evict.' })),
    force: Type.Optional(
      Type.Boolean({
        description: 'Deletes the pods even if a PodDisruptionBudget blocks their eviction.',
      }),
    ),
    restartWithin: duration({
      default: '30s',
      description:
        'Maximum time until `pidFile` names a new running process, or until all pods are ready again.',
    }),
  },
  {
    description:
      'Kills a process (`pidFile`, `command`) or pods (`pod`) at the start of each stage.',
  },
)

const formatted = (format: string, maxLength: number, description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format, minLength: 1, maxLength, description })

const outbound = section(
  {
    host: Type.Optional(formatted(GLOB_FORMAT, 253, 'Target host, as in `--outbound`.')),
    port: Type.Optional(number(1, 65_535, { description: 'Port of the target.' })),
    sni: Type.Optional(formatted(GLOB_FORMAT, 253, 'Server name in the TLS handshake.')),
    cidr: Type.Optional(formatted(CIDR_FORMAT, 49, 'CIDR range of target addresses.')),
  },
  { minProperties: 1, description: "Connections to block, as in a rule's `match.outbound`." },
)

export const dependency = section(
  {
    outbound,
    blocked: oneOf(['blackhole', 'refuse'] as const, {
      default: 'blackhole',
      description:
        'How connections fail. `blackhole` passes no bytes. `refuse` refuses new connections and resets open ones.',
    }),
  },
  {
    description: "Blocks the sidecar's connections to a server dependency for the whole stage.",
    examples: [{ outbound: { host: 'db', port: 5432 } }],
  },
)

export const exhaust = section(
  {
    sessions: number(1, 1000, {
      description:
        'Number of MCP sessions to keep open during each stage, each with an event stream if the server offers one.',
    }),
  },
  {
    description: 'Exhausts server resources during the stages.',
    examples: [{ sessions: 20 }],
  },
)
