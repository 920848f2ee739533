import type { Static, TUnsafe } from 'typebox'
import {
  duration,
  editorSchema,
  latencyLimit,
  oneOf,
  percentage,
  rate,
  rulesJsonSchema,
  schemaText,
  section,
} from '#rules'
import { HEADER_NAME_PATTERN } from '#protocol'
import type { CallMeasure } from './gate.ts'
import { conditions, plainShare } from './monitor/condition-schema.ts'
import { expectation, quantiles } from './expectation-schema.ts'
import { dependency, exhaust, kill, number, sidecar, text } from './sidecar-schema.ts'
import { METRICS, type Metric } from '../load/results/slo.ts'
import { CLIENT_KINDS } from '../load/results/result.ts'
import * as Type from 'typebox'

const shares = (description: string): TUnsafe<readonly number[]> =>
  Type.Unsafe<readonly number[]>({
    type: 'array',
    items: percentage({}),
    minItems: 1,
    maxItems: 20,
    description,
    examples: [['10%', '25%', '50%']],
  })

const QUANTILES = ['p50', 'p90', 'p95', 'p99', 'p99.9']

/** Explains each metric besides quantiles. */
const MEASURED: Readonly<Record<string, string>> = {
  success: 'share of calls with a correct result in time',
  tcsr: 'share of calls with a correct result in time (same as `success`)',
  errors: 'share of failed calls',
  availability: 'share of calls with an error-free response',
  correctness: 'share of error-free responses that are correct',
  eta: 'share of calls with a correct result',
  scr: 'share of calls whose result conforms to the output schema',
  deadline: 'share of calls that ended within the deadline',
  blast: 'share of failed tasks (blast radius)',
  silent: 'share of tasks with an injected fault, a wrong result and no error',
  degraded: 'share of tasks in which only optional calls failed',
  tcaf: 'mean number of calls in a task (call amplification)',
  retries: 'mean number of retries in a task',
  runaway: 'share of faults and errors after which the agent repeated the call many times',
  'gave-up': 'share of faults and errors after which the agent gave up',
  'ignored-retry-after': 'share of faults and errors after which the agent ignored `Retry-After`',
  'duplicate-execution': 'number of non-idempotent calls that were executed twice',
  'possible-duplicates': 'number of non-idempotent calls that may have been executed twice',
  'falsified-used': 'number of calls with a false value in their arguments',
  mean: 'mean latency',
  max: 'latency of any call',
}

const gate = (name: string, { unit, isMinimum }: Pick<Metric, 'unit' | 'isMinimum'>) => {
  const measured = MEASURED[name] ?? `${name} latency`
  const description = `${isMinimum === true ? 'Minimum' : 'Maximum'} ${measured}.`
  if (unit === 'ms') return duration({ description })
  if (unit === 'share') return percentage({ description })
  return Type.Number({ minimum: 0, maximum: 1_000_000, description })
}

const slo = Type.Unsafe<Readonly<Record<string, number>>>(
  section(
    Object.fromEntries([
      ...Object.entries(METRICS).map(([name, metric]) => [name, Type.Optional(gate(name, metric))]),
      ...QUANTILES.map((name) => [name, Type.Optional(gate(name, { unit: 'ms' }))]),
    ]) as Readonly<Record<string, TUnsafe<number>>>,
    {
      description:
        'Gates that must pass at the end of each stage, with the same names as in `squall load --slo`.',
      examples: [{ success: '99%', blast: '5%' }],
    },
  ),
)

const target = section(
  {
    url: text('URL of the MCP endpoint. The sidecar must be on the path of the requests.'),
    environment: Type.Optional(
      text("The sidecar's `--environment` (case-insensitive). A plan without it is rejected.", 63),
    ),
    indirect: Type.Boolean({
      default: false,
      description:
        'Set to true if the target itself calls the MCP server behind the sidecar: rules then match tools that the load does not call.',
    }),
    client: oneOf(CLIENT_KINDS, {
      default: 'lean',
      description:
        'Client of the load: `lean` for a high call rate, `sdk-v1` and `sdk-v2` for the behaviour of the official SDKs.',
    }),
    headers: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        patternProperties: {
          [HEADER_NAME_PATTERN]: { type: 'string', maxLength: 8192 },
        },
        additionalProperties: false,
        maxProperties: 50,
        description:
          'Headers to add to each request. Squall stores them with each run; pass secrets with `--header` or `--auth-token-file` instead.',
      }),
    ),
  },
  {
    description: 'The MCP endpoint under test, and its client.',
    examples: [{ url: 'http://localhost:15300/mcp', environment: 'staging' }],
  },
)

const steadyState = section(
  {
    probe: oneOf(['load', 'tools/list'] as const, {
      default: 'load',
      description:
        "Requests to measure: the plan's `load`, or a `tools/list` request about five times a second.",
    }),
    errors: Type.Optional(percentage({ description: 'Maximum share of failed calls.' })),
    success: Type.Optional(
      percentage({ description: 'Minimum share of calls with a correct result in time.' }),
    ),
    ...quantiles(['median', 'p95', 'p99'], (name) =>
      latencyLimit({
        description: `Maximum ${name} latency, or a multiple of the value before the stages (\`2x\`).`,
      }),
    ),
    ready: Type.Optional(
      number(1, 10_000, {
        description: 'Minimum number of ready pods, with `sidecar.kubernetes`.',
      }),
    ),
    ...conditions(false, plainShare),
    for: duration({
      default: '20s',
      description:
        'Before the stages: time over which all metrics are measured. After the stages: how long all metrics must stay within their limits.',
    }),
    within: duration({
      default: '2m',
      description: 'Maximum time to return to the steady state after the stages.',
    }),
  },
  {
    description: 'Limits of normal operation, checked before and after the stages.',
    examples: [{ errors: '1%', p95: '1s', for: '20s' }],
  },
)

const load = section(
  {
    clients: number(1, 10_000, {
      default: 10,
      description: 'Number of clients, each with its own session.',
    }),
    rate: Type.Optional(
      rate(100_000, {
        description:
          'Calls per second, or a rate such as `10/s` or `30/m`. Without `rate`, each client starts a task when its previous task ends.',
      }),
    ),
    tools: Type.Optional(
      Type.Unsafe<readonly string[]>({
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 256 },
        maxItems: 200,
        description:
          'Tools to call, with arguments generated from their schemas. Without `tools` and `calls`: the tools with `readOnlyHint: true`, if every tool declares a hint.',
      }),
    ),
    calls: Type.Optional(
      text('Path of a file with calls and their arguments, as for `squall load --calls`.'),
    ),
    fanOut: number(1, 1000, { default: 1, description: 'Number of calls in a task.' }),
    streams: number(0, 100_000, {
      default: 0,
      description: 'Number of event streams to keep open during the calls.',
    }),
    timeout: duration({ default: '10s', description: 'Timeout of each attempt of a call.' }),
    retries: number(0, 20, {
      default: 0,
      description: 'Maximum number of retries for a failed call.',
    }),
    retryBudget: Type.Optional(
      percentage({
        description: 'Retry budget: maximum number of retries, as a percentage of calls, plus ten.',
      }),
    ),
    deadline: Type.Optional(
      duration({
        description: 'Deadline for each task; calls that end later do not count as successful.',
      }),
    ),
    degrade: number(0, 1000, {
      default: 0,
      description: 'Number of optional calls at the end of each task.',
    }),
    expect: Type.Optional(
      Type.Unsafe<readonly string[]>({
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 1024 },
        maxItems: 100,
        description: 'Conditions on the results, as for `squall load --expect`.',
      }),
    ),
  },
  { description: 'The load during all phases of the experiment.', default: {} },
)

type SchemaNode = ReturnType<typeof rulesJsonSchema>

/** A limit that fails at once, or after a time. */
export interface AbortLimit<Limit = number> {
  readonly limit: Limit
  readonly for: number
}

function lasting<Limit>(limit: TUnsafe<Limit>): TUnsafe<Limit | AbortLimit<Limit>> {
  const { anyOf = [], description } = limit as SchemaNode
  const withTime = section(
    {
      limit,
      for: duration({
        default: 0,
        description: 'How long the limit must be violated before the rollback.',
      }),
    },
    { description: 'A limit, and how long it must be violated before the rollback.' },
  )
  return Type.Unsafe<Limit | AbortLimit<Limit>>({
    anyOf: [...anyOf, withTime],
    description: `${description?.replace(/[.]$/, '')}, or \`{ limit, for }\`.`,
  })
}

const abortShare = (name: CallMeasure): TUnsafe<number | AbortLimit> =>
  lasting(gate(name, METRICS[name]!) as TUnsafe<number>)

const abortLatency = (name: string): TUnsafe<number | string | AbortLimit<number | string>> =>
  lasting(latencyLimit({ description: `Maximum ${name} latency.` }))

const abortOn = section(
  {
    errors: Type.Optional(abortShare('errors')),
    success: Type.Optional(abortShare('success')),
    ...quantiles(['p50', 'p95', 'p99'], abortLatency),
    ...conditions(true, (description) => lasting(plainShare(description))),
  },
  {
    description:
      'Conditions for a rollback, checked ten times a second. `for` sets how long a limit must be violated.',
    examples: [{ errors: { limit: '5%', for: '30s' }, p95: '10s' }],
  },
)

const plan = section({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    minLength: 1,
    maxLength: 40,
    description: 'Name of the experiment in history and reports.',
  }),
  description: Type.Optional(text('The question that the experiment answers.', 2000)),
  target,
  sidecar,
  steadyState,
  seed: Type.Optional(
    number(0, 2 ** 32 - 1, {
      description:
        'Seed for calls, arguments and sampling; a seed in the rules takes precedence. Default: each run generates and reports a seed.',
    }),
  ),
  rules: Type.Optional(
    Type.Unsafe<unknown>({
      anyOf: [
        { type: 'string', minLength: 1, maxLength: 1024 },
        { type: 'array', items: { $ref: '#/definitions/rule' }, maxItems: 100 },
      ],
      description: 'Rules, or the path of a rules file relative to the plan.',
      examples: ['./rules/slow-search.yaml'],
    }),
  ),
  kill: Type.Optional(kill),
  exhaust: Type.Optional(exhaust),
  dependency: Type.Optional(dependency),
  stages: Type.Optional(
    shares('Percentages of calls that the rules may sample, one per stage, in ascending order.'),
  ),
  pods: Type.Optional(
    shares('Percentages of replicas that may inject faults, one per stage, instead of `stages`.'),
  ),
  hold: duration({ default: '60s', description: 'Duration of each stage.' }),
  load,
  abortOn: Type.Optional(abortOn),
  slo: Type.Optional(slo),
  expect: Type.Optional(expectation),
})

/** A plan file with its defaults; durations are in milliseconds, shares in percent. */
export type PlanFile = Static<typeof plan>

export function planJsonSchema(): SchemaNode {
  const { definitions } = rulesJsonSchema()
  const root = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Squall experiment',
    ...plan,
    definitions,
  }
  return JSON.parse(JSON.stringify(root)) as SchemaNode
}

/** Returns the schema that `squall schema experiment` prints. */
export function planSchemaText(): string {
  return schemaText('experiment', editorSchema(planJsonSchema()))
}
