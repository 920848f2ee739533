import type { Static, TObject, TUnsafe } from 'typebox'
import {
  CIDR_FORMAT,
  GLOB_FORMAT,
  mapOf,
  type NodeOptions,
  oneOf,
  REGEX_FORMAT,
  section,
} from '../../filters/lib/config-schema.ts'
import { type Transport, TRANSPORTS } from '../../mcp/call.ts'
import { PROTOCOL_VERSION_FORMAT } from './formats.ts'
import type { TextSpec } from '../match/text-match.ts'
import type { ValueSpec } from '../match/value-match.ts'
import * as Type from 'typebox'

const MAX_LIST = 100
const MAX_TEXT = 2048

const glob = { type: 'string', format: GLOB_FORMAT, minLength: 1, maxLength: MAX_TEXT } as const

const listOf = (items: object) => ({ type: 'array', items, minItems: 1, maxItems: MAX_LIST })

/** Refers to a definition of the match. */
function ref<T>(name: string, options: NodeOptions = {}): TUnsafe<T> {
  return Type.Unsafe<T>({ $ref: `#/definitions/${name}`, ...options })
}

/** One of something, or a list of them. */
function oneOrMore<T>(one: object, options: NodeOptions): TUnsafe<T | readonly T[]> {
  return Type.Unsafe<T | readonly T[]>({ anyOf: [one, listOf(one)], ...options })
}

/** One text, a glob, or several. */
const texts = (description: string, ...examples: unknown[]): TUnsafe<TextSpec> =>
  ref<TextSpec>('text', examples.length === 0 ? { description } : { description, examples })

/** The conditions on the destination of outgoing traffic. */
const outboundKeys = section(
  {
    host: Type.Optional(
      texts('Matches the destination host, as written in `--outbound` or `--captured`.', 'db'),
    ),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'Matches the destination port.',
        examples: [5432],
      }),
    ),
    sni: Type.Optional(
      texts(
        'Matches the SNI of a TLS connection. Allowed only with the `connection` fault.',
        '*.example.com',
      ),
    ),
    cidr: Type.Optional(
      oneOrMore<string>(
        { type: 'string', format: CIDR_FORMAT, maxLength: 49 },
        {
          description:
            'Matches the destination IP address. Allowed only with the `connection` fault.',
          examples: ['10.0.0.0/8'],
        },
      ),
    ),
  },
  {
    minProperties: 1,
    description:
      "Matches the pod's outgoing traffic: TCP connections for the `connection` fault, calls or HTTP exchanges for all other faults. To select calls, add keys such as `tool`.",
  },
)

const regex = (description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: REGEX_FORMAT, maxLength: 1000, description })
const text = (description: string): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', maxLength: MAX_TEXT, description })

const textOperators = {
  type: 'object',
  properties: {
    regex: regex('Matches this regular expression anywhere in values of up to 32,768 characters.'),
    not: { $ref: '#/definitions/text', description: 'Matches all values except these.' },
  },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
}

const operators = {
  prefix: Type.Optional(text('Matches values with this prefix.')),
  suffix: Type.Optional(text('Matches values with this suffix.')),
  contains: Type.Optional(text('Matches values that contain this substring.')),
  regex: Type.Optional(
    regex('Matches this regular expression anywhere in values of up to 32,768 characters.'),
  ),
  present: Type.Optional(
    Type.Boolean({
      description: '`true` matches if the value is present, `false` if it is absent.',
    }),
  ),
  absent: Type.Optional(
    Type.Boolean({
      description: '`true` matches if the value is absent, `false` if it is present.',
    }),
  ),
}

const headerOperators = section(
  {
    exact: Type.Optional(text('Matches this exact value.')),
    ...operators,
    not: Type.Optional(ref<ValueSpec>('headerValue', { description: 'Inverts the match.' })),
  },
  { minProperties: 1 },
)

const valueOperators = section(
  {
    exact: Type.Optional(
      Type.Unknown({ description: 'Matches this JSON value, including lists and objects.' }),
    ),
    ...operators,
    gt: Type.Optional(Type.Number({ description: 'Matches numbers greater than this.' })),
    lt: Type.Optional(Type.Number({ description: 'Matches numbers less than this.' })),
    not: Type.Optional(ref<ValueSpec>('value', { description: 'Inverts the match.' })),
  },
  { minProperties: 1 },
)

const record = { minProperties: 1, maxProperties: 50 }
const STATUS = [
  { type: 'integer', minimum: 100, maximum: 599 },
  { type: 'string', pattern: '^[1-5]xx$' },
]
const httpKeys = section(
  {
    method: Type.Optional(
      texts(
        'Matches the HTTP method. Write it in upper case. `OPTIONS` matches only if named explicitly.',
        'POST',
      ),
    ),
    path: Type.Optional(
      texts(
        'Matches the path, without the query. Paths of health probes, OAuth and `/.well-known` match only if named explicitly.',
        '/api/*',
      ),
    ),
    status: Type.Optional(
      Type.Unsafe<number | string | readonly (number | string)[]>({
        anyOf: [...STATUS, listOf({ anyOf: STATUS })],
        description: 'Matches the response status, or a class such as `5xx`.',
        examples: ['5xx'],
      }),
    ),
  },
  {
    minProperties: 1,
    description:
      'Matches HTTP exchanges instead of calls. Required to inject faults into HTTP traffic other than MCP.',
  },
)

const matchKeys = {
  direction: Type.Optional(
    oneOf(['client', 'server'], {
      description:
        'Matches the sender of the message. `client`: requests, notifications and responses from the client (default). `server`: notifications and requests from the server, in event streams, on stdio, or in a result that requests input. `server` requires `method`.',
      examples: ['server'],
    }),
  ),
  kind: Type.Optional(
    oneOf(['response'], {
      description:
        'Matches client responses to server requests such as `ping`. Requires `method`. Not needed for requests that only servers send, such as `elicitation/create`.',
      examples: ['response'],
    }),
  ),
  method: Type.Optional(
    texts(
      'Matches the JSON-RPC method. Default: `tools/call`, `prompts/get` with `prompt`, `resources/read` with `resource`. Handshake methods and `ping` match only by full name, client notifications by full name or a `notifications/` glob.',
      'tools/call',
      '*',
      'notifications/cancelled',
    ),
  ),
  tool: Type.Optional(
    texts(
      'Matches the tool name. For server messages and tasks, matches the tool of the call that they belong to. With `http`: matches the tool of any call in the exchange.',
      'search_*',
      ['query_db', 'list_tables'],
    ),
  ),
  prompt: Type.Optional(texts('Matches the prompt name.')),
  resource: Type.Optional(texts('Matches the resource URI.', 'file:///reports/*')),
  headers: Type.Optional(
    mapOf(ref<ValueSpec>('headerValue'), {
      ...record,
      description: 'Matches request headers by name.',
      examples: [{ 'x-chaos': 'on' }],
    }),
  ),
  baggage: Type.Optional(
    mapOf(ref<ValueSpec>('headerValue'), {
      ...record,
      description:
        'Matches W3C baggage by key, from `_meta.baggage` if it has a valid member, otherwise from the `baggage` header. Values are percent-decoded.',
      examples: [{ tenant: 'canary' }],
    }),
  ),
  args: Type.Optional(
    mapOf(ref<ValueSpec>('value'), {
      ...record,
      description: 'Matches call arguments by JSON Pointer.',
      examples: [{ '/city': 'Oslo', '/limit': { gt: 100 } }],
    }),
  ),
  session: Type.Optional(
    ref<ValueSpec>('headerValue', {
      description:
        'Matches the session ID or, over HTTP+SSE, the path and query of the message endpoint.',
    }),
  ),
  client: Type.Optional(
    Type.Unsafe<
      string | readonly string[] | { readonly name?: TextSpec; readonly version?: TextSpec }
    >({
      anyOf: [
        glob,
        listOf(glob),
        section(
          {
            name: Type.Optional(texts('Matches the client name.')),
            version: Type.Optional(texts('Matches the client version.')),
          },
          { minProperties: 1 },
        ),
      ],
      description:
        'Matches the client name, or name and version, from `_meta` or else from the `initialize` request of the session.',
    }),
  ),
  transport: Type.Optional(
    oneOrMore<Transport>(oneOf(TRANSPORTS, {}), { description: 'Matches the MCP transport.' }),
  ),
  protocolVersion: Type.Optional(
    oneOrMore<string>(
      { type: 'string', format: PROTOCOL_VERSION_FORMAT, maxLength: 100 },
      {
        description: 'Matches a protocol version, or a range of versions.',
        examples: ['2026-07-28', '>=2025-03-26 <2025-11-25'],
      },
    ),
  ),
  http: Type.Optional(httpKeys),
  outbound: Type.Optional(outboundKeys),
  workload: Type.Optional(
    texts(
      "Matches the name of the pod's Deployment, StatefulSet, DaemonSet, Job or CronJob. Matches only if `--workload` is set, as in injected sidecars.",
      'shop-*',
    ),
  ),
  podLabels: Type.Optional(
    mapOf(text('Matches this exact label value.'), {
      ...record,
      description:
        'Matches pod labels by exact value. Label changes take effect without a restart. Matches only if `--pod-labels-file` is set, as in injected sidecars.',
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
  Type.Unsafe<readonly Match[]>({ ...listOf(ref<Match>('match')), description })

const match = section({
  ...matchKeys,
  any: Type.Optional(
    several(
      'Matches calls that satisfy at least one of these matchers. The list must not be empty.',
    ),
  ),
  all: Type.Optional(several('Matches calls that satisfy all of these matchers.')),
  not: Type.Optional(
    ref<Match>('match', { description: 'Matches calls that do not satisfy this matcher.' }),
  ),
})

/**
 * The definitions that the match refers to by name. No union here has two branches for one type of
 * JSON value.
 */
export const matchDefinitions = {
  match,
  text: {
    anyOf: [glob, textOperators, listOf({ anyOf: [glob, textOperators] })],
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
  description: 'Selects calls that satisfy all keys. Default: every `tools/call`.',
  examples: [{ tool: 'search_*' }],
})
