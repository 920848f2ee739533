import type { Static, TObject, TUnsafe } from 'typebox'
import { oneOf, section } from '../../filters/lib/config-schema.ts'
import { type Transport, TRANSPORTS } from '../../mcp/call.ts'
import { PROTOCOL_VERSION_FORMAT, REGEX_FORMAT } from './formats.ts'
import { glob, MAX_LIST, MAX_TEXT, oneOrMore, ref, type TextMatch, texts } from './match-nodes.ts'
import { outboundKeys } from './outbound-schema.ts'
import type { ValueOperators } from '../match/value-match.ts'
import * as Type from 'typebox'

const regex = (description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: REGEX_FORMAT, maxLength: 1000, description })
const text = (description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', maxLength: MAX_TEXT, description })

export type HeaderOperators = Omit<ValueOperators, 'gt' | 'lt' | 'not'> & {
  readonly not?: HeaderMatch
}

export type HeaderMatch = string | HeaderOperators

/** The condition on an argument of the call. */
export type ValueMatch = string | number | boolean | null | ValueOperators

const textOperators = {
  type: 'object',
  properties: {
    regex: regex(
      'A regular expression, found anywhere unless it has `^` or `$`. Texts above 32768 characters have no match.',
    ),
    not: { $ref: '#/definitions/text', description: 'Anything but this.' },
  },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
}

const operators = {
  prefix: Type.Optional(text('Begins with this.')),
  suffix: Type.Optional(text('Ends with this.')),
  contains: Type.Optional(text('Has this in it.')),
  regex: Type.Optional(
    regex('Has a match of this regular expression. Texts above 32768 characters have none.'),
  ),
  present: Type.Optional(Type.Boolean({ description: 'Is there, whatever it is.' })),
  absent: Type.Optional(Type.Boolean({ description: 'Is not there.' })),
}

const headerOperators = section(
  {
    exact: Type.Optional(text('Is this, and nothing else.')),
    ...operators,
    not: Type.Optional(ref<HeaderMatch>('headerValue', { description: 'Is not this.' })),
  },
  { minProperties: 1 },
)

const valueOperators = section(
  {
    exact: Type.Optional(
      Type.Unknown({ description: 'Is this JSON value, also a list or object.' }),
    ),
    ...operators,
    gt: Type.Optional(Type.Number({ description: 'Is a number above this.' })),
    lt: Type.Optional(Type.Number({ description: 'Is a number below this.' })),
    not: Type.Optional(ref<ValueMatch>('value', { description: 'Is not this.' })),
  },
  { minProperties: 1 },
)

const record = { minProperties: 1, maxProperties: 50 }
const httpKeys = section(
  {
    method: Type.Optional(texts('The HTTP method, in capitals.', 'POST')),
    path: Type.Optional(
      texts(
        'The path, without the query. Health probes and OAuth are matched only by name.',
        '/api/*',
      ),
    ),
    status: Type.Optional(
      Type.Unsafe<number | string | readonly (number | string)[]>({
        anyOf: [
          { type: 'integer', minimum: 100, maximum: 599 },
          { type: 'string', pattern: '^[1-5]xx$' },
          {
            type: 'array',
            items: {
              anyOf: [
                { type: 'integer', minimum: 100, maximum: 599 },
                { type: 'string', pattern: '^[1-5]xx$' },
              ],
            },
            minItems: 1,
            maxItems: MAX_LIST,
          },
        ],
        description: "The response's status, or a class of them such as `5xx`.",
        examples: ['5xx'],
      }),
    ),
  },
  {
    minProperties: 1,
    description: 'HTTP exchanges rather than calls: the only way to touch traffic that is not MCP.',
  },
)

const matchKeys = {
  direction: Type.Optional(
    oneOf(['client', 'server'], {
      description:
        'The sender of the message. `client`, unless given: requests, notifications and responses of the client. `server`: notifications and requests of the server, in event streams.',
      examples: ['server'],
    }),
  ),
  kind: Type.Optional(
    oneOf(['response'], {
      description:
        'Responses of the client to requests of the server with this method, such as `ping` or `tasks/get`, which clients send as well. Methods that only servers request, such as `elicitation/create`, need no `kind`.',
      examples: ['response'],
    }),
  ),
  method: Type.Optional(
    texts(
      'The JSON-RPC method of a request or notification. Without it a rule is about `tools/call`. No glob matches `initialize`, `ping` and `server/discover`. Notifications of the client are matched by a name or glob that begins with `notifications/`. The method of a request that servers send, such as `elicitation/create`, matches the response of the client, or with `direction: server` the request.',
      'tools/call',
      '*',
      'notifications/cancelled',
    ),
  ),
  tool: Type.Optional(
    texts(
      "The tool's name. With `direction: server`: the tool of the call to which the message belongs. With a method about tasks, such as `tasks/result`: the tool that began the task. With `http`: the exchange carries a call of such a tool.",
      'search_*',
      ['query_db', 'list_tables'],
    ),
  ),
  prompt: Type.Optional(texts("The prompt's name.")),
  resource: Type.Optional(texts("The resource's URI.", 'file:///reports/*')),
  headers: Type.Optional(
    Type.Record(Type.String(), ref<HeaderMatch>('headerValue'), {
      ...record,
      description: 'Headers of the request, by name.',
      examples: [{ 'x-chaos': 'on' }],
    }),
  ),
  args: Type.Optional(
    Type.Record(Type.String(), ref<ValueMatch>('value'), {
      ...record,
      description: "The call's arguments, each by its JSON Pointer.",
      examples: [{ '/city': 'Oslo', '/limit': { gt: 100 } }],
    }),
  ),
  session: Type.Optional(ref<HeaderMatch>('headerValue', { description: 'The session id.' })),
  client: Type.Optional(
    Type.Unsafe<
      string | readonly string[] | { readonly name?: TextMatch; readonly version?: TextMatch }
    >({
      anyOf: [
        glob,
        { type: 'array', items: glob, minItems: 1, maxItems: MAX_LIST },
        section(
          {
            name: Type.Optional(texts("The client's name.")),
            version: Type.Optional(texts("The client's version.")),
          },
          { minProperties: 1 },
        ),
      ],
      description: 'The client as it introduced itself: its name, or name and version.',
    }),
  ),
  transport: Type.Optional(
    oneOrMore<Transport>(oneOf(TRANSPORTS, {}), {
      description: 'How MCP travels.',
    }),
  ),
  protocolVersion: Type.Optional(
    oneOrMore<string>(
      { type: 'string', format: PROTOCOL_VERSION_FORMAT, maxLength: 100 },
      {
        description: 'The protocol version, or a range of them.',
        examples: ['2026-07-28', '>=2025-03-26 <2025-11-25'],
      },
    ),
  ),
  http: Type.Optional(httpKeys),
  outbound: Type.Optional(outboundKeys),
  workload: Type.Optional(
    texts(
      'The Deployment, StatefulSet, DaemonSet or Job that makes the pod, by its name. Where Squall was not injected into a pod, a rule with this key never matches.',
      'shop-*',
    ),
  ),
  podLabels: Type.Optional(
    Type.Record(Type.String(), text('The value of the label.'), {
      ...record,
      description:
        'Labels of the pod, each with its value. A label that changes counts at once. Where Squall was not injected into a pod, a rule with this key never matches.',
      examples: [{ app: 'shop' }],
    }),
  ),
}

/** The conditions of a rule. All of them must hold. */
export interface Match extends Static<TObject<typeof matchKeys>> {
  readonly any?: readonly Match[]
  readonly all?: readonly Match[]
  readonly not?: Match
}

const several = (description: string): TUnsafe<readonly Match[]> =>
  Type.Unsafe<readonly Match[]>({
    type: 'array',
    items: ref<Match>('match'),
    minItems: 1,
    maxItems: MAX_LIST,
    description,
  })

const match = section({
  ...matchKeys,
  any: Type.Optional(several('At least one of these holds.')),
  all: Type.Optional(several('All of these hold.')),
  not: Type.Optional(ref<Match>('match', { description: 'This does not hold.' })),
})

/**
 * The definitions that the match refers to by name. No union here has two branches for one type of
 * JSON value.
 */
export const matchDefinitions = {
  match,
  text: {
    anyOf: [
      glob,
      textOperators,
      { type: 'array', items: { anyOf: [glob, textOperators] }, minItems: 1, maxItems: MAX_LIST },
    ],
  },
  headerValue: { anyOf: [{ type: 'string', maxLength: MAX_TEXT }, headerOperators] },
  value: {
    anyOf: [
      { type: 'string', maxLength: MAX_TEXT },
      { type: 'number' },
      { type: 'boolean' },
      { type: 'null' },
      valueOperators,
    ],
  },
}

/** The place of the match in a rule. */
export const matchRef: TUnsafe<Match> = ref<Match>('match', {
  description:
    'What the rule is about; all that is given must hold. Without it: every `tools/call`.',
  examples: [{ tool: 'search_*' }],
})
