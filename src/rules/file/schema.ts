import type { Static, TUnsafe } from 'typebox'
import { duration, percentage, section, type NodeOptions } from '../../filters/lib/config-schema.ts'
import { parameterProblems } from '../../filters/lib/exclusive.ts'
import { FAULTS, type FaultUse } from '../../filters/index.ts'
import { SIGNED_PERCENT_PATTERN } from '../../base/units.ts'
import { editorSchema, faultSentence, schemaText } from './schema-text.ts'
import { MAX_ITEMS } from './document-bounds.ts'
import { FRACTION_FORMAT, INSTANT_FORMAT } from './formats.ts'
import { INSTANT_PATTERN } from '../../base/instant.ts'
import { matchDefinitions, matchRef } from './match-schema.ts'
import { fillDefaults } from './read-values.ts'
import type { SchemaNode } from './schema-node.ts'
import type { StickyBy } from '../select/selection.ts'
import * as Type from 'typebox'

export type { Match } from './match-schema.ts'

const instant = (options: NodeOptions): TUnsafe<number> =>
  Type.Unsafe<number>({
    type: 'string',
    format: INSTANT_FORMAT,
    pattern: INSTANT_PATTERN,
    examples: ['2026-03-01T09:00:00Z'],
    ...options,
  })

const fraction = (options: NodeOptions): TUnsafe<number> =>
  Type.Unsafe<number>({
    anyOf: [
      { type: 'number', minimum: 0, maximum: 1 },
      { type: 'string', format: FRACTION_FORMAT, pattern: SIGNED_PERCENT_PATTERN },
    ],
    ...options,
  })

const count = (minimum: number, description: string): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'integer', minimum, maximum: Number.MAX_SAFE_INTEGER, description })

/** Faults that need no parameter can be written as their name alone. */
const PLAIN_FAULTS = FAULTS.filter((fault) => {
  const schema = fault.schema as SchemaNode
  return (
    schema.required === undefined && parameterProblems(fault, fillDefaults(schema)).length === 0
  )
}).map((fault) => fault.name)

const faultObject = {
  type: 'object',
  properties: Object.fromEntries(
    FAULTS.map((fault) => [
      fault.name,
      { ...(fault.schema as object), description: faultSentence(fault.summary) },
    ]),
  ),
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
}

const faultItem = { anyOf: [{ type: 'string', enum: PLAIN_FAULTS }, faultObject] }

const stickyBy = Type.Unsafe<StickyBy>({
  anyOf: [
    { type: 'string', enum: ['ordinal', 'session', 'args', 'trace'] },
    section({
      header: Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'Name of the request header whose value is the key.',
      }),
    }),
  ],
  default: 'ordinal',
  description:
    'Makes calls with the same key share one sampling decision across all replicas. Keys: `session`, `args`, `trace` or `{header: name}`. `ordinal` samples each call by its number on the replica.',
})

const rule = section({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    minLength: 1,
    maxLength: 63,
    description:
      'Names the rule in metrics, logs and markers. Must be unique in the file, and among all files of a directory.',
    examples: ['slow-search'],
  }),
  match: Type.Optional(matchRef),
  percent: Type.Optional(percentage({ description: 'Samples this percentage of matching calls.' })),
  probability: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Samples this share of matching calls, from 0 to 1.',
    }),
  ),
  first: Type.Optional(
    count(1, 'Acts only on the first n matching calls that `after` and `every` leave.'),
  ),
  after: Type.Optional(count(0, 'Acts only after n matching calls.')),
  every: Type.Optional(count(1, 'Acts only on every n-th matching call.')),
  times: Type.Optional(count(1, 'Samples at most n calls in total on each replica.')),
  burst: Type.Optional(
    section(
      {
        rate: fraction({
          description: 'Sets the average share of calls that are part of a burst.',
        }),
        length: Type.Number({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Sets the mean length of a burst, in calls.',
        }),
      },
      {
        description: 'Samples calls in bursts of consecutive calls.',
        examples: [{ rate: '5%', length: 10 }],
      },
    ),
  ),
  episode: Type.Optional(
    section(
      {
        tasks: count(1, 'Sets the number of consecutive tasks in an episode.'),
        of: count(
          2,
          'Sets the number of tasks from the start of one episode to the start of the next.',
        ),
      },
      {
        description:
          'Acts only on the first `tasks` of every `of` tasks. Requires `stickyBy`: a task consists of all calls with the same key.',
        examples: [{ tasks: 3, of: 20 }],
      },
    ),
  ),
  stickyBy,
  shareSamples: Type.Boolean({
    default: false,
    description:
      'Gives the n-th matching call the same sampling decision on every replica. Default: replicas sample independently.',
  }),
  from: Type.Optional(instant({ description: 'Starts the rule at this time.' })),
  until: Type.Optional(instant({ description: 'Ends the rule at this time.' })),
  for: Type.Optional(
    duration({
      description:
        'Ends the rule after this duration, measured from `appliedAt` (without it, the first load of the rule) or `from`, whichever is later. Reloads do not restart the time.',
    }),
  ),
  repeat: Type.Optional(
    duration({
      description:
        'With `for`: starts the rule again at this interval, measured from start to start.',
      examples: ['5m'],
    }),
  ),
  appliedAt: Type.Optional(
    instant({
      description:
        "Overrides the file's `appliedAt` for this rule. `squall apply` writes this key.",
    }),
  ),
  ramp: Type.Optional(
    section(
      {
        to: percentage({ description: 'Sets the percentage of calls at the end of the ramp.' }),
        over: duration({ description: 'Sets the duration of the ramp.' }),
      },
      {
        description:
          'Changes the percentage of sampled calls linearly from `percent` or `probability`, or from 0 if neither is set.',
      },
    ),
  ),
  stages: Type.Optional(
    Type.Array(percentage({}), {
      minItems: 1,
      maxItems: 100,
      description:
        'Samples these percentages of calls in sequence, each for the duration `each`, and then keeps the last.',
      examples: [['10%', '25%', '50%']],
    }),
  ),
  each: Type.Optional(duration({ description: 'With `stages`: sets the duration of each stage.' })),
  pods: Type.Optional(
    percentage({
      description:
        'Acts only on about this percentage of replicas. The selection is stable for the same pod names.',
    }),
  ),
  maxActive: Type.Optional(count(1, "Limits the rule's concurrent faults.")),
  // A word of the file's language; nothing awaits this object.
  // oxlint-disable-next-line unicorn/no-thenable
  then: Type.Optional(
    Type.Unsafe<'stop'>({
      type: 'string',
      enum: ['stop'],
      description:
        '`stop`: skips later rules of the same group (with `http.status`, with `http` only, without `http`) for calls that this rule sampled. Has no effect with `dryRun: true`.',
    }),
  ),
  enabled: Type.Boolean({
    default: true,
    description: 'If `false`, the rule is validated and listed, but never matches.',
  }),
  dryRun: Type.Boolean({
    default: false,
    description: 'If `true`, the rule matches, samples and counts calls, but injects no faults.',
  }),
  marker: Type.Boolean({
    default: true,
    description:
      'Adds a marker with rule and fault to affected responses, as a header or an SSE comment (not on stdio). Metrics record the fault in either case.',
  }),
  faults: Type.Unsafe<readonly FaultUse[]>({
    type: 'array',
    items: faultItem,
    minItems: 1,
    maxItems: 20,
    description: 'Injects these faults into a sampled call, in this order.',
    examples: [[{ delay: { fixed: '2s' } }]],
  }),
})

/** One rule: parsed, with defaults, durations in milliseconds and shares as numbers. */
export type Rule = Static<typeof rule>

const file = section({
  version: Type.Unsafe<1>({
    type: 'integer',
    enum: [1],
    default: 1,
    description: 'Sets the file format version.',
  }),
  seed: Type.Optional(
    Type.Unsafe<number>({
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Makes sampling reproducible for the same replicas and calls. Default: `--seed`, or a seed that each sidecar generates and reports at start; samples that all replicas share then use 0.',
    }),
  ),
  enabled: Type.Boolean({ default: true, description: 'If `false`, disables all rules.' }),
  maxActive: Type.Unsafe<number>({
    type: 'integer',
    minimum: 1,
    maximum: 1_000_000,
    default: 100,
    description:
      'Limits concurrent faults across all rules except `connection` rules. Calls over the limit pass unchanged and are counted.',
  }),
  appliedAt: Type.Optional(
    instant({
      description:
        'Sets the time from which `for`, `repeat`, `ramp`, `stages` and `--max-duration` count in all pods. `squall apply` writes this key.',
    }),
  ),
  until: Type.Optional(instant({ description: 'Ends all rules of the file at this time.' })),
  rules: Type.Unsafe<readonly Rule[]>({
    type: ['array', 'null'],
    items: { $ref: '#/definitions/rule' },
    maxItems: MAX_ITEMS,
    default: [],
    description:
      'Lists the rules, in the order in which they are evaluated; rules with `http` but without `http.status` come first.',
  }),
})

/** A whole rules file: parsed, with defaults. */
export type RulesFile = Static<typeof file>

const root = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Squall rules',
  ...file,
  definitions: { rule, ...matchDefinitions },
}

/** The schema of a rules file: JSON Schema draft 7. */
export function rulesJsonSchema(): SchemaNode {
  return JSON.parse(JSON.stringify(root)) as SchemaNode
}

/** Returns the schema that `squall schema` prints, for editors. */
export function rulesSchemaText(): string {
  return schemaText('rules', editorSchema(rulesJsonSchema()))
}
