import type { Static, TUnsafe } from 'typebox'
import { duration, oneOf, percentage, section } from '../../filters/lib/config-schema.ts'
import type { NodeOptions } from '../../filters/lib/config-schema.ts'
import { rulesJsonSchema } from '../../rules/file/schema.ts'
import type { SchemaNode } from '../../rules/file/schema-node.ts'
import { HEADER_NAME_PATTERN } from '../../http/header-text.ts'
import { CLIENT_KINDS } from '../load/results/result.ts'
import * as Type from 'typebox'

const text = (description: string, maxLength = 1024): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', minLength: 1, maxLength, description })

const number = (minimum: number, maximum: number, options: NodeOptions): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'integer', minimum, maximum, ...options })

const shares = (description: string): TUnsafe<readonly number[]> =>
  Type.Unsafe<readonly number[]>({
    type: 'array',
    items: percentage({}),
    minItems: 1,
    maxItems: 20,
    description,
    examples: [['10%', '25%', '50%']],
  })

const condition = (example: string, description: string): TUnsafe<string> =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description,
    examples: [example],
  })

const target = section(
  {
    url: text('URL of the MCP endpoint, behind the sidecar.'),
    environment: Type.Optional(
      text('The environment that the sidecar has to be in, as its own `--environment` says.', 63),
    ),
    client: oneOf(CLIENT_KINDS, {
      default: 'lean',
      description: 'Which client makes the calls: `lean` for volume, the SDKs for truth.',
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
          'Headers of every request. They are kept in the history: give secrets by `--header` or `--auth-token-file`.',
      }),
    ),
  },
  { description: 'What is called.' },
)

const sidecar = section(
  {
    admin: text('URL of the admin port of the sidecar.'),
    rulesFile: text(
      'The rules file that the sidecar watches (`--rules`). It is replaced while the experiment runs, and put back after.',
    ),
    replaceRules: Type.Boolean({
      default: false,
      description: 'Rules of others may be active before; they rest while the experiment runs.',
    }),
    expiry: duration({
      default: '30s',
      description:
        'How long the rules act after the experiment has died. It is renewed while the experiment lives.',
    }),
  },
  { description: 'The sidecar in front of it.' },
)

const steadyState = section(
  {
    probe: oneOf(['load', 'tools/list'] as const, {
      default: 'load',
      description:
        'What is looked at: the calls of the load, or `tools/list`, asked five times a second.',
    }),
    errors: Type.Optional(percentage({ description: 'The largest share of failures.' })),
    success: Type.Optional(
      percentage({ description: 'The smallest share that is right and in time.' }),
    ),
    p50: Type.Optional(duration({ description: 'The longest median.' })),
    p95: Type.Optional(duration({ description: 'The longest 95th percentile.' })),
    p99: Type.Optional(duration({ description: 'The longest 99th percentile.' })),
    for: duration({ default: '20s', description: 'How long it has to hold, before and after.' }),
    within: duration({
      default: '2m',
      description: 'How long it may take after the end until it holds again.',
    }),
  },
  { description: 'What is normal. Checked before anything is done, and again after.' },
)

const load = section(
  {
    clients: number(1, 10_000, { default: 10, description: 'Clients, each with a session.' }),
    rate: Type.Optional(
      number(1, 100_000, {
        description:
          'Calls that arrive per second; without it each client goes on when it is done.',
      }),
    ),
    tools: Type.Optional(
      Type.Unsafe<readonly string[]>({
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 256 },
        maxItems: 200,
        description:
          'Tools to call, with arguments made from their schemas; without this and `calls` those that say that they only read.',
      }),
    ),
    calls: Type.Optional(text('A file of calls with their arguments, as `squall load` takes it.')),
    fanOut: number(1, 1000, { default: 1, description: 'Calls of one task.' }),
    streams: number(0, 100_000, { default: 0, description: 'Streams held open beside the calls.' }),
    timeout: duration({ default: '10s', description: 'Time for one attempt of a call.' }),
    retries: number(0, 20, { default: 0, description: 'Further attempts of a call that failed.' }),
    retryBudget: Type.Optional(
      percentage({ description: 'Retries for each hundred calls at most.' }),
    ),
    deadline: Type.Optional(duration({ description: 'Time for a task.' })),
    degrade: number(0, 1000, {
      default: 0,
      description: 'So many calls at the end of a task it can do without.',
    }),
    expect: Type.Optional(
      Type.Unsafe<readonly string[]>({
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 1024 },
        maxItems: 100,
        description: 'What results have to look like, as `squall load --expect` takes it.',
      }),
    ),
  },
  { description: 'The calls that are made all the while.', default: {} },
)

const abortOn = section(
  {
    errors: Type.Optional(condition('>5% for 30s', 'A share of failures that ends it.')),
    success: Type.Optional(condition('<95% for 30s', 'A share of good calls that ends it.')),
    p50: Type.Optional(condition('>2s', 'A median that ends it.')),
    p95: Type.Optional(condition('>10s', 'A 95th percentile that ends it.')),
    p99: Type.Optional(condition('>10s for 5s', 'A 99th percentile that ends it.')),
  },
  { description: 'What ends the experiment at once. It is looked at ten times a second.' },
)

const kill = section(
  {
    pidFile: text('The file that holds the number of the process.'),
    command: text(
      'A part of its command line: a number alone may have become that of another process.',
      256,
    ),
    restartWithin: duration({
      default: '30s',
      description: 'How long it may take until the file names its successor, alive.',
    }),
  },
  { description: 'A process that is killed with SIGKILL at the beginning of each stage.' },
)

const plan = section({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    minLength: 1,
    maxLength: 40,
    description: 'What the experiment is called in history and reports.',
  }),
  description: Type.Optional(text('What is to be found out.', 2000)),
  target,
  sidecar,
  steadyState,
  seed: number(0, 2 ** 32 - 1, {
    default: 1,
    description: 'Decides calls, arguments and, where the rules have no seed, what they sample.',
  }),
  rules: Type.Optional(
    Type.Unsafe<unknown>({
      anyOf: [
        { type: 'string', minLength: 1, maxLength: 1024 },
        { type: 'array', items: { $ref: '#/definitions/rule' }, maxItems: 100 },
      ],
      description: 'A rules file, beside this one, or the rules themselves.',
      examples: ['./rules/slow-search.yaml'],
    }),
  ),
  kill: Type.Optional(kill),
  stages: Type.Optional(
    shares('Shares of the calls that the rules may sample. Each is held, then widened.'),
  ),
  pods: Type.Optional(shares('The same as shares of the replicas, in the place of `stages`.')),
  hold: duration({ default: '60s', description: 'How long each stage is held.' }),
  load,
  abortOn: Type.Optional(abortOn),
  slo: Type.Optional(
    Type.Unsafe<readonly string[]>({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 64 },
      maxItems: 20,
      description:
        'Gates that each stage has to pass at its end, as `squall load --slo` takes them.',
      examples: [['success>99%', 'blast<5%']],
    }),
  ),
})

/** A plan file with defaults, durations in milliseconds and shares in percent. */
export type PlanFile = Static<typeof plan>

/** The JSON Schema of plans, for editors and for checking. */
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

/** Returns the schema that `squall schema --experiment` prints. */
export function planSchemaText(): string {
  return `${JSON.stringify(planJsonSchema(), null, 2)}\n`
}
