import type { Static, TUnsafe } from 'typebox'
import * as Type from 'typebox'
import { FAULTS } from '../../filters/index.ts'
import { duration, oneOf, percentage, rate, section } from '../../filters/lib/config-schema.ts'
import type { SchemaNode } from '../file/schema-node.ts'
import { schemaText } from '../file/schema-text.ts'
import { PRODUCTION_NAMES } from '../guard/production-names.ts'

const texts = (description: string, more: object = {}): TUnsafe<readonly string[]> =>
  Type.Unsafe<readonly string[]>({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 512 },
    minItems: 1,
    maxItems: 100,
    description,
    ...more,
  })

/** The sections of a plan that a policy may require. */
export const REQUIRABLE = ['abortOn', 'slo', 'steadyState'] as const

const APPROVALS = ['ask', 'terminal', 'none'] as const

const line = (description: string) => Type.String({ minLength: 1, maxLength: 512, description })

const sweptTask = section({
  name: Type.String({
    pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
    description: 'Task name, by which agents select the task.',
  }),
  tape: line('Tape with the recorded calls of the task.'),
  command: texts('Program and arguments of the task, run without a shell.'),
  check: Type.Optional(line('Shell command that checks a run; exit code 0 means success.')),
})

const policy = section({
  targets: texts('Target URLs that may be tested; `*` matches any characters.', {
    examples: [['http://127.0.0.1:15300/mcp']],
  }),
  environments: texts('Environments that may be tested (case-insensitive).', {
    examples: [['staging', 'dev']],
  }),
  forbidden: texts(
    'Words that mean production in environment, namespace, context and URLs, as globs; `!` excludes, and the last match decides.',
    { default: PRODUCTION_NAMES },
  ),
  require: Type.Unsafe<readonly (typeof REQUIRABLE)[number][]>({
    type: 'array',
    items: oneOf(REQUIRABLE, {}),
    minItems: 1,
    maxItems: REQUIRABLE.length,
    default: REQUIRABLE,
    description: 'Sections that each plan must have, each with at least one limit.',
  }),
  firstStage: percentage({
    default: 10,
    description: 'Maximum percentage of calls or replicas in the first stage.',
  }),
  maxPercent: percentage({
    default: 50,
    description: 'Maximum percentage of calls or replicas in any stage.',
  }),
  maxDuration: duration({ default: '30m', description: 'Maximum total duration of the stages.' }),
  requireUntil: Type.Boolean({
    default: false,
    description: 'Denies rules in ConfigMaps that do not end within `maxDuration`.',
  }),
  maxRate: Type.Optional(
    rate(100_000, {
      description: 'Maximum `rate` of the load. If set, each plan must also set `rate`.',
      examples: ['50/s'],
    }),
  ),
  perHour: Type.Unsafe<number>({
    type: 'integer',
    minimum: 1,
    maximum: 1000,
    default: 6,
    description: 'Maximum number of experiments per target and hour.',
  }),
  faults: Type.Optional(
    Type.Unsafe<readonly string[]>({
      type: 'array',
      items: { type: 'string', enum: FAULTS.map(({ name }) => name) },
      minItems: 1,
      description: 'Faults that may be injected. Default: all faults.',
      examples: [['delay', 'abort']],
    }),
  ),
  approval: oneOf(APPROVALS, {
    default: 'ask',
    description:
      'Approval of runs in `squall mcp`. `ask`: by a person, in the client or with `squall mcp approve`. `terminal`: only with `squall mcp approve`. `none`: not required.',
  }),
  neverTools: Type.Optional(
    texts('Tools that no experiment may affect, as globs. Rules must then name their tools.', {
      examples: [['delete_*', 'pay']],
    }),
  ),
  sweeps: Type.Optional(
    Type.Array(sweptTask, {
      minItems: 1,
      maxItems: 20,
      description:
        'Tasks that `squall mcp` may sweep, which agents select by name. Paths are relative to the directory of `squall mcp`.',
      examples: [[{ name: 'book', tape: 'book.tape', command: ['node', 'agent.js'] }]],
    }),
  ),
})

/** A policy with its defaults; durations are in milliseconds, shares in percent. */
export type Policy = Static<typeof policy>

/** Returns the JSON Schema of policies. */
export function policyJsonSchema(): SchemaNode {
  const root = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Squall policy',
    ...policy,
    definitions: {},
  }
  return JSON.parse(JSON.stringify(root)) as SchemaNode
}

/** Returns the schema that `squall schema policy` prints. */
export function policySchemaText(): string {
  return schemaText('policy', policyJsonSchema())
}
