import type { Static, TObject, TUnsafe } from 'typebox'
import { oneOf, section } from '../../filters/lib/config-schema.ts'
import { type Transport, TRANSPORTS } from '../../mcp/call.ts'
import { PROTOCOL_VERSION_FORMAT, REGEX_FORMAT, CIDR_FORMAT } from './formats.ts'
import { glob, MAX_LIST, MAX_TEXT, oneOrMore, ref, type TextMatch, texts } from './match-nodes.ts'
import type { ValueOperators } from '../match/value-match.ts'
import * as Type from 'typebox'

/** The conditions on the destination of outgoing traffic. */
const outboundKeys = section(
  {
    host: Type.Optional(
      texts('Matches the host of the destination, as in `--outbound` or `--captured`.', 'db'),
    ),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'Matches the port of the destination.',
        examples: [5432],
      }),
    ),
    sni: Type.Optional(
      texts(
        'Matches the server name in the TLS handshake of a connection. Only with the fault `connection`.',
        '*.example.com',
      ),
    ),
    cidr: Type.Optional(
      oneOrMore<string>(
        { type: 'string', format: CIDR_FORMAT, maxLength: 49 },
        {
          description:
            'Matches destination addresses in this range. Only with the fault `connection`.',
          examples: ['10.0.0.0/8'],
        },
      ),
    ),
  },
  {
    minProperties: 1,
    description:
      'Matches outgoing traffic of the pod to a dependency: TCP connections with the fault `connection`, else calls, together with keys such as `tool`.',
  },
)

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
      'Matches a regular expression anywhere in the value, unless it has `^` or `$`. Values above 32768 characters do not match.',
    ),
    not: { $ref: '#/definitions/text', description: 'Matches every other value.' },
  },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
}

const operators = {
  prefix: Type.Optional(text('Matches values that begin with this text.')),
  suffix: Type.Optional(text('Matches values that end with this text.')),
  contains: Type.Optional(text('Matches values that contain this text.')),
  regex: Type.Optional(
    regex('Finds this regular expression. Values above 32768 characters do not match.'),
  ),
  present: Type.Optional(Type.Boolean({ description: 'Matches any value that is present.' })),
  absent: Type.Optional(Type.Boolean({ description: 'Matches when the value is missing.' })),
}

const headerOperators = section(
  {
    exact: Type.Optional(text('Matches exactly this value.')),
    ...operators,
    not: Type.Optional(ref<HeaderMatch>('headerValue', { description: 'Matches other values.' })),
  },
  { minProperties: 1 },
)

const valueOperators = section(
  {
    exact: Type.Optional(
      Type.Unknown({ description: 'Matches this JSON value, also a list or an object.' }),
    ),
    ...operators,
    gt: Type.Optional(Type.Number({ description: 'Matches numbers above this one.' })),
    lt: Type.Optional(Type.Number({ description: 'Matches numbers below this one.' })),
    not: Type.Optional(ref<ValueMatch>('value', { description: 'Matches other values.' })),
  },
  { minProperties: 1 },
)

const record = { minProperties: 1, maxProperties: 50 }
const httpKeys = section(
  {
    method: Type.Optional(texts('Matches the HTTP method, in capitals.', 'POST')),
    path: Type.Optional(
      texts(
        'Matches the path, without the query. Health probes and OAuth must be named explicitly.',
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
        description: 'Matches the status of the response, or a class such as `5xx`.',
        examples: ['5xx'],
      }),
    ),
  },
  {
    minProperties: 1,
    description:
      'Matches HTTP exchanges, not calls: the only way to fault traffic that is not MCP.',
  },
)

const matchKeys = {
  direction: Type.Optional(
    oneOf(['client', 'server'], {
      description:
        'Selects the sender of the message. `client`: requests, notifications and responses of the client. `server`: notifications and requests of the server, in event streams. Default: `client`.',
      examples: ['server'],
    }),
  ),
  kind: Type.Optional(
    oneOf(['response'], {
      description:
        'Matches responses of the client to server requests with this method, such as `ping`. Methods that only servers request, such as `elicitation/create`, do not need `kind`.',
      examples: ['response'],
    }),
  ),
  method: Type.Optional(
    texts(
      'Matches the JSON-RPC method of a request or notification. Default: `tools/call`. Globs never match `initialize`, `ping` and `server/discover`; client notifications match only names and globs that begin with `notifications/`.',
      'tools/call',
      '*',
      'notifications/cancelled',
    ),
  ),
  tool: Type.Optional(
    texts(
      'Matches the name of the tool; for server messages and tasks, the tool of their call; with `http`, of any call in the exchange.',
      'search_*',
      ['query_db', 'list_tables'],
    ),
  ),
  prompt: Type.Optional(texts('Matches the name of the prompt.')),
  resource: Type.Optional(texts('Matches the URI of the resource.', 'file:///reports/*')),
  headers: Type.Optional(
    Type.Record(Type.String(), ref<HeaderMatch>('headerValue'), {
      ...record,
      description: 'Matches headers of the request, by name.',
      examples: [{ 'x-chaos': 'on' }],
    }),
  ),
  baggage: Type.Optional(
    Type.Record(Type.String(), ref<HeaderMatch>('headerValue'), {
      ...record,
      description:
        'Matches members of the W3C baggage of the call in `_meta.baggage`, or else in the header `baggage`, by key. Values are percent-decoded.',
      examples: [{ tenant: 'canary' }],
    }),
  ),
  args: Type.Optional(
    Type.Record(Type.String(), ref<ValueMatch>('value'), {
      ...record,
      description: 'Matches arguments of the call, each by its JSON Pointer.',
      examples: [{ '/city': 'Oslo', '/limit': { gt: 100 } }],
    }),
  ),
  session: Type.Optional(ref<HeaderMatch>('headerValue', { description: 'Matches session ids.' })),
  client: Type.Optional(
    Type.Unsafe<
      string | readonly string[] | { readonly name?: TextMatch; readonly version?: TextMatch }
    >({
      anyOf: [
        glob,
        { type: 'array', items: glob, minItems: 1, maxItems: MAX_LIST },
        section(
          {
            name: Type.Optional(texts('Matches the name of the client.')),
            version: Type.Optional(texts('Matches the version of the client.')),
          },
          { minProperties: 1 },
        ),
      ],
      description: 'Matches the client as given in `initialize`: its name, or name and version.',
    }),
  ),
  transport: Type.Optional(
    oneOrMore<Transport>(oneOf(TRANSPORTS, {}), { description: 'Matches the transport of MCP.' }),
  ),
  protocolVersion: Type.Optional(
    oneOrMore<string>(
      { type: 'string', format: PROTOCOL_VERSION_FORMAT, maxLength: 100 },
      {
        description: 'Matches the protocol version, or a range of versions.',
        examples: ['2026-07-28', '>=2025-03-26 <2025-11-25'],
      },
    ),
  ),
  http: Type.Optional(httpKeys),
  outbound: Type.Optional(outboundKeys),
  workload: Type.Optional(
    texts(
      "Matches the name of the pod's Deployment, StatefulSet, DaemonSet or Job. Never matches outside of pods into which Squall was injected.",
      'shop-*',
    ),
  ),
  podLabels: Type.Optional(
    Type.Record(Type.String(), text('Matches the value of the label.'), {
      ...record,
      description:
        'Matches labels of the pod, each with its value. Changed labels apply at once. Never matches outside of pods into which Squall was injected.',
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
  any: Type.Optional(several('Matches when at least one of these matches.')),
  all: Type.Optional(several('Matches when all of these match.')),
  not: Type.Optional(ref<Match>('match', { description: 'Matches when this does not match.' })),
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
  description: 'Selects the calls of the rule; all keys must match. Default: every `tools/call`.',
  examples: [{ tool: 'search_*' }],
})
