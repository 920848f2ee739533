import type { Static, TUnsafe } from 'typebox'
import { duration, percentage, section, type NodeOptions } from '../../filters/lib/config-schema.ts'
import { parameterProblems } from '../../filters/lib/exclusive.ts'
import { FAULTS, type FaultUse } from '../../filters/index.ts'
import { SIGNED_PERCENT_PATTERN } from '../../base/units.ts'
import { editorSchema } from './editor-schema.ts'
import { schemaText } from './schema-text.ts'
import { MAX_ITEMS } from './document-bounds.ts'
import { FRACTION_FORMAT, INSTANT_FORMAT } from './formats.ts'
import { INSTANT_PATTERN } from '../../base/instant.ts'
import { matchDefinitions, matchRef } from './match-schema.ts'
import { fillDefaults } from './read-values.ts'
import type { SchemaNode } from './schema-node.ts'
import * as Type from 'typebox'

export type { TextMatch } from './match-nodes.ts'
export type { HeaderMatch, Match, ValueMatch } from './match-schema.ts'

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
      { ...(fault.schema as object), description: `The fault that ${fault.summary}.` },
    ]),
  ),
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
}

const faultItem =
  PLAIN_FAULTS.length === 0
    ? faultObject
    : { anyOf: [{ type: 'string', enum: PLAIN_FAULTS }, faultObject] }

const stickyBy = Type.Unsafe<
  'ordinal' | 'session' | 'args' | 'trace' | { readonly header: string }
>({
  anyOf: [
    { type: 'string', enum: ['ordinal', 'session', 'args', 'trace'] },
    section({
      header: Type.String({ minLength: 1, maxLength: 256, description: "The header's name." }),
    }),
  ],
  default: 'ordinal',
  description:
    'Selects the key by which calls are sampled. `ordinal`: the number of the call, counted by each replica for itself. `session`, `args`, `trace` or `{header: name}`: calls that share the value get the same result, on every replica.',
})

const rule = section({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    minLength: 1,
    maxLength: 63,
    description: 'The name of the rule in metrics, logs and markers; unique in the file.',
    examples: ['slow-search'],
  }),
  match: Type.Optional(matchRef),
  percent: Type.Optional(
    percentage({
      description: 'The percentage of matching calls to sample, from 0 (none) to 100 (all).',
    }),
  ),
  probability: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'The same as a number from 0 to 1.' }),
  ),
  first: Type.Optional(count(1, 'Only the first n matching calls.')),
  after: Type.Optional(count(0, 'Only after n matching calls.')),
  every: Type.Optional(count(1, 'Only each n-th matching call.')),
  times: Type.Optional(count(1, 'At most n sampled calls in all.')),
  burst: Type.Optional(
    section(
      {
        rate: fraction({ description: 'The share of calls in bursts, in the long run.' }),
        length: Type.Number({
          minimum: 1,
          maximum: 1_000_000,
          description: 'The mean length of a burst, in calls.',
        }),
      },
      { description: 'Failures that come in runs.', examples: [{ rate: '5%', length: 10 }] },
    ),
  ),
  episode: Type.Optional(
    section(
      {
        tasks: count(1, 'The consecutive tasks on which the rule acts.'),
        of: count(2, 'The number of tasks after which they come again.'),
      },
      {
        description:
          'Acts only on calls of the first `tasks` of each `of` tasks. Calls with the same key of `stickyBy` are one task.',
        examples: [{ tasks: 3, of: 20 }],
      },
    ),
  ),
  stickyBy,
  shareSamples: Type.Boolean({
    default: false,
    description:
      'The n-th matching call gets the same result on every replica. Otherwise replicas sample independently of each other.',
  }),
  from: Type.Optional(instant({ description: 'Not before this time.' })),
  until: Type.Optional(instant({ description: 'Not from this time on.' })),
  for: Type.Optional(
    duration({
      description:
        'This long after `appliedAt`, or else after the sidecar first saw the rule. Reloads that leave the rule unchanged do not restart it.',
    }),
  ),
  repeat: Type.Optional(
    duration({
      description: 'With `for`: the rule acts for that long, again and again, with this period.',
      examples: ['5m'],
    }),
  ),
  appliedAt: Type.Optional(
    instant({
      description:
        'When the rule was applied, in the place of the `appliedAt` of the file. `squall apply` writes it.',
    }),
  ),
  ramp: Type.Optional(
    section(
      {
        to: percentage({ description: 'The share at the end.' }),
        over: duration({ description: 'How long the rise takes.' }),
      },
      { description: 'The share rises in a straight line, from `percent` or from 0.' },
    ),
  ),
  stages: Type.Optional(
    Type.Array(percentage({}), {
      minItems: 1,
      maxItems: 100,
      description: 'Shares that follow each other; the last one stays.',
      examples: [['10%', '25%', '50%']],
    }),
  ),
  each: Type.Optional(duration({ description: 'With `stages`: how long each of them lasts.' })),
  pods: Type.Optional(
    percentage({ description: 'Only in this share of the replicas, always the same ones.' }),
  ),
  maxActive: Type.Optional(
    count(1, 'At most n faults of the rule in progress at the same moment.'),
  ),
  // A word of the file's language; nothing awaits this object.
  // oxlint-disable-next-line unicorn/no-thenable
  then: Type.Optional(
    Type.Unsafe<'stop'>({
      type: 'string',
      enum: ['stop'],
      description: 'Later rules are skipped for a call that this rule sampled.',
    }),
  ),
  enabled: Type.Boolean({
    default: true,
    description: '`false` disables the rule: it is checked and shown, and matches no call.',
  }),
  dryRun: Type.Boolean({
    default: false,
    description: 'Matches, samples and counts, but injects nothing.',
  }),
  marker: Type.Boolean({
    default: true,
    description:
      'Adds a header or a comment with the rule and fault to each response that a fault touched. Logs and metrics record the fault in any case.',
  }),
  faults: Type.Unsafe<readonly FaultUse[]>({
    type: 'array',
    items: faultItem,
    minItems: 1,
    maxItems: 20,
    description: 'The faults for a sampled call, in this order.',
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
    description: 'The version of this format.',
  }),
  seed: Type.Optional(
    Type.Unsafe<number>({
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'The same seed, replicas and calls give the same faults. Without a seed, each start of a sidecar draws one and reports it.',
    }),
  ),
  enabled: Type.Boolean({ default: true, description: '`false` disarms everything at once.' }),
  maxActive: Type.Unsafe<number>({
    type: 'integer',
    minimum: 1,
    maximum: 1_000_000,
    default: 100,
    description:
      'The most faults in progress at the same time, over all rules. Further calls pass untouched and are counted.',
  }),
  appliedAt: Type.Optional(
    instant({
      description:
        'When the rules were applied: what `for`, `ramp`, `stages` and `--max-duration` count from, in every pod. `squall apply` writes it.',
    }),
  ),
  until: Type.Optional(instant({ description: 'No rule of the file acts from this time on.' })),
  rules: Type.Unsafe<readonly Rule[]>({
    type: ['array', 'null'],
    items: { $ref: '#/definitions/rule' },
    maxItems: MAX_ITEMS,
    default: [],
    description: 'The rules, in order.',
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
