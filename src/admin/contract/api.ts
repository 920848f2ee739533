import type { Static, TObject, TSchema } from 'typebox'
import { SCHEMAS } from './api-schemas.ts'
import { tapQuery } from './call-schemas.ts'
import { agentsQuery, verdictQuery } from './task-schemas.ts'

export { isError } from '../../telemetry/outcome-index.ts'

// The contract of the admin port. The server, its clients and docs/reference/admin-api.md are made
// from it.

/** One path of the admin port. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Shown in the list of paths; paths without one are not listed. */
  readonly summary?: string
  /** Readable without a token and by any `Host`. */
  readonly open?: true
  /** The parameters of the query. */
  readonly query?: TObject
  /** The JSON body that may be sent. */
  readonly request?: TSchema
  /** The JSON of a success, or of one event of a stream; other formats have none. */
  readonly response?: TSchema
  readonly stream?: true
}

/** The paths that send JSON. */
export const API = {
  readyz: {
    method: 'GET',
    path: '/readyz',
    summary: 'whether the sidecar is ready for traffic, as JSON',
    open: true,
    response: SCHEMAS.readiness,
  },
  state: {
    method: 'GET',
    path: '/api/state',
    summary:
      'whether the rules are armed, the reasons if they are not, and the result of the last reload, as JSON',
    response: SCHEMAS.state,
  },
  rules: {
    method: 'GET',
    path: '/api/rules',
    summary: 'the active rules with their results, as JSON',
    response: SCHEMAS.rules,
  },
  injections: {
    method: 'GET',
    path: '/api/injections',
    summary: 'the latest injected faults, newest first, as JSON',
    response: SCHEMAS.faults,
  },
  faults: {
    method: 'GET',
    path: '/api/faults',
    summary: 'temporary faults, as JSON; with the admin token, POST adds one and DELETE removes',
    response: SCHEMAS.temporary,
  },
  addFault: {
    method: 'POST',
    path: '/api/faults',
    summary:
      'POST, with the admin token: adds the rule in the JSON body, which must set `for` or `until`',
    response: SCHEMAS.added,
  },
  removeFault: {
    method: 'DELETE',
    path: '/api/faults',
    summary: 'DELETE, with the admin token: removes a temporary fault, or all of them',
    request: SCHEMAS.removal,
    response: SCHEMAS.removed,
  },
  errors: {
    method: 'GET',
    path: '/api/errors',
    summary: 'injected and real errors by kind, with sample messages, as JSON',
    response: SCHEMAS.errors,
  },
  tap: {
    method: 'GET',
    path: '/api/tap',
    summary: 'each call when it ends, as server-sent events',
    query: tapQuery,
    response: SCHEMAS.call,
    stream: true,
  },
  tasks: {
    method: 'GET',
    path: '/api/tasks',
    summary: 'agent tasks, and what the agents did after faults, as JSON',
    query: verdictQuery,
    response: SCHEMAS.tasks,
  },
  agents: {
    method: 'GET',
    path: '/api/agents',
    summary: 'findings about agent behaviour after faults and errors, with advice, as JSON',
    query: agentsQuery,
    response: SCHEMAS.agents,
  },
  verdicts: {
    method: 'GET',
    path: '/api/verdicts',
    summary: 'verdicts about agent behaviour after faults and errors, as server-sent events',
    query: verdictQuery,
    response: SCHEMAS.verdict,
    stream: true,
  },
  history: {
    method: 'GET',
    path: '/api/history',
    summary: 'rates and latencies of the last 15 minutes, by tool, as JSON',
    response: SCHEMAS.history,
  },
  events: {
    method: 'GET',
    path: '/api/events',
    summary:
      'state, rules, injected faults, errors and calls by tool, once a second, as server-sent events',
    response: SCHEMAS.event,
    stream: true,
  },
  disarm: {
    method: 'POST',
    path: '/api/disarm',
    summary: 'POST, with the admin token: disarms all rules until /api/arm',
    request: SCHEMAS.change,
    response: SCHEMAS.changed,
  },
  arm: {
    method: 'POST',
    path: '/api/arm',
    summary: 'POST, with the admin token: arms the rules again',
    request: SCHEMAS.change,
    response: SCHEMAS.changed,
  },
} as const satisfies Readonly<Record<string, Endpoint>>

/** The paths that send text, pages or what an upstream responded. */
export const OTHER_PATHS = {
  index: { method: 'GET', path: '/', summary: 'this list' },
  livez: { method: 'GET', path: '/livez', summary: 'whether the process is running', open: true },
  metrics: {
    method: 'GET',
    path: '/metrics',
    summary: 'metrics, as Prometheus text or OpenMetrics',
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    summary: 'the OpenAPI 3.1 description of this API',
  },
  page: { method: 'GET', path: '/page/…' },
  appHealth: { method: 'GET', path: '/app-health/…', open: true },
} as const satisfies Readonly<Record<string, Endpoint>>

/** The JSON that a path sends. */
export type ResponseOf<E extends Endpoint> = E['response'] extends TSchema
  ? Static<E['response']>
  : never

export type State = ResponseOf<typeof API.state>
export type Rules = ResponseOf<typeof API.rules>
export type Rule = Rules['rules'][number]
export type Faults = ResponseOf<typeof API.injections>
export type TemporaryList = ResponseOf<typeof API.faults>
export type Fault = Faults['faults'][number]
export type Errors = ResponseOf<typeof API.errors>
export type ErrorKind = Errors['errors'][number]
export type TappedCall = ResponseOf<typeof API.tap>
export type Tasks = ResponseOf<typeof API.tasks>
export type Agents = ResponseOf<typeof API.agents>
export type Finding = Agents['findings'][number]
export type VerdictLine = ResponseOf<typeof API.verdicts>
export type History = ResponseOf<typeof API.history>
export type LiveEvent = ResponseOf<typeof API.events>
export type Tool = LiveEvent['tools'][number]
export type Changed = ResponseOf<typeof API.disarm>
export type Reason = State['reasons'][number]
export type Reload = NonNullable<State['lastReload']>
export type Problem = NonNullable<Reload['problems']>[number]
export type Failure = Static<typeof SCHEMAS.failure>
