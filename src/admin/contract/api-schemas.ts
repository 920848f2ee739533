import type { Static, TUnsafe } from 'typebox'
import type { Origin } from '../../mcp/call.ts'
import type { RuleCounts } from '../../rules/select/rule-counts.ts'
import { agentsSchema, tasksSchema, verdictSchema } from './task-schemas.ts'
import { callSchema, errors, errorsSchema, historySchema } from './call-schemas.ts'
import {
  count,
  flag,
  list,
  maybe,
  NAME,
  nullableNumber,
  nullableText,
  seconds,
  text,
  time,
  word,
} from './schema-parts.ts'
import * as Type from 'typebox'

/** The connections to the dependencies, as the live events have them. */
const destinationsSchema = list(
  Type.Object({
    destination: text(300, 'The dependency as configured; `other` for all further addresses.'),
    open: count('Number of open connections.'),
    ok: count('Connections that closed without an error.'),
    real: count('Connections that failed without a fault.'),
    injected: count('Connections that a fault closed, or blocked until they closed.'),
    sent: count('Bytes sent to the dependency.'),
    received: count('Bytes received from the dependency.'),
  }),
  130,
  'Connections to dependencies; missing without `--outbound` and `--captured`.',
)

// The JSON of the admin port. Clients cut what is longer than a bound here. A field that is added
// after a release is optional: a client may be newer than the sidecar that it asks.

const DIGEST = 80

const reason = Type.Object({
  by: text(
    40,
    'What disarmed the rules: `environment`, `operator`, `guard`, `rollback-on` (a condition of that flag), `stopped` (`squall stop`), `draining`, or `file` for `enabled: false` in the rules file.',
  ),
  reason: text(500, 'The reason, as readable text.'),
  at: time('When the rules were disarmed.'),
})

const arming = {
  armed: flag('Whether faults may be injected.'),
  reasons: list(reason, 10, 'All reasons why rules are disarmed.'),
}

const problem = Type.Object({
  file: text(NAME, 'The rules file.'),
  line: count('Line number, starting at 1.'),
  column: count('Column number, starting at 1.'),
  code: text(40, 'Stable code of the error.'),
  path: text(NAME, 'The key, such as `rules[0].percnt`; empty for the whole file.'),
  message: text(1000, 'The error message, as readable text.'),
})

const reload = {
  result: word(['applied', 'rejected', 'absent'], 'The outcome of the reload.'),
  digest: text(DIGEST, 'SHA-256 of the version.'),
  at: time('When the version was found.'),
  reason: maybe(text(NAME, 'Why the file is missing; only when `absent`.')),
  problemCount: maybe(count('The number of errors; only when `rejected`.')),
  problems: maybe(list(problem, 50, 'The first 50 errors; only when `rejected`.')),
}

const process = {
  version: text(40, 'The version of Squall.'),
  environment: nullableText(80, 'The value of `--environment`.'),
  namespace: maybe(text(253, 'The namespace of the pod, if known.')),
  pod: maybe(text(253, 'The name of the pod, or else of the machine, if known.')),
  workload: maybe(text(253, 'The workload of the pod, if known.')),
  listeners: maybe(
    list(
      Type.Object({
        listen: text(NAME, 'The address for clients.'),
        upstream: text(NAME, 'The address of the upstream.'),
      }),
      64,
      'Each listener with its upstream.',
    ),
  ),
  startedAt: time('When the process started.'),
  uptimeSeconds: Type.Number({ minimum: 0, description: 'Seconds since `startedAt`.' }),
  canChange: flag('Whether an admin token is set, so that changes are possible.'),
  ...arming,
  dryRun: flag('Whether `--dry-run` is set: rules match and count, but do not inject.'),
  activeFaults: count('The number of concurrent faults.'),
  maxActiveFaults: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'Limit of concurrent faults; `null` without a limit.',
  }),
  rules: Type.Object(
    {
      count: count('The number of rules.'),
      generation: count('The number of rules versions that have become active.'),
      digest: nullableText(DIGEST, 'SHA-256 of the active version.'),
      seed: maybe(count('The sampling seed, configured or random.')),
      since: time('When the version became active.'),
      temporary: maybe(count('The number of temporary faults, which `count` excludes.')),
    },
    { description: 'The active version of the rules. A rejected version does not replace it.' },
  ),
  foreignMarkers: maybe(
    word(
      ['ignored', 'trusted'],
      "Set if upstream responses have another Squall's markers. `ignored`: those errors count as real. `trusted`: as injected elsewhere (`--trust-markers`).",
    ),
  ),
  unanchored: list(
    text(NAME, ''),
    20,
    'Rules without `appliedAt`, whose times count from their first load by this process.',
  ),
  lastReload: Type.Unsafe<Static<ReturnType<typeof Type.Object<typeof reload>>> | null>({
    ...Type.Object(reload),
    type: ['object', 'null'],
    description: 'The version that was loaded last; `null` before the first load.',
  }),
}

const readiness = Type.Object({
  ready: flag('Whether the sidecar is ready for traffic.'),
  reason: text(NAME, 'Why the sidecar is ready or not ready.'),
  listening: maybe(flag('Whether traffic is accepted, regardless of the upstream.')),
})

const rule = Type.Object({
  name: text(NAME, 'The name of the rule.'),
  faults: list(text(40, ''), 20, 'The names of the faults.'),
  text: maybe(
    text(
      NAME,
      'The rule as written, on one line, without name and secrets, truncated to 400 characters. `/api/events` omits it.',
    ),
  ),
  about: word(['http', 'calls', 'connections'], 'What the rule matches.'),
  temporary: maybe(
    flag('Whether the rule was added through `/api/faults` and is not in the rules file.'),
  ),
  builtIn: maybe(flag('Whether the rule represents faults that clients request with headers.')),
  dryRun: maybe(flag('Whether the rule matches and counts calls without injecting faults.')),
  since: time('When the times and counts of the rule started.'),
  appliedAt: time('The `appliedAt` of the rule.'),
  from: time('When the rule starts to act.'),
  until: time('When the rule stops acting.'),
  phase: word(
    ['on', 'not_yet', 'expired', 'other_pod', 'disabled'],
    'Whether the rule is active. `other_pod`: for other replicas only. `disabled`: disabled by the file.',
  ),
  percent: nullableNumber(
    'Current percentage of calls to sample, which `ramp` and `stages` change; `null` for `builtIn`.',
  ),
  sampled: count('Calls that were sampled.'),
  active: count('Concurrent faults of the rule.'),
  counts: Type.Unsafe<Readonly<Partial<RuleCounts>>>({
    type: 'object',
    patternProperties: { '^[a-z][a-z_]{0,39}$': { type: 'integer', minimum: 0 } },
    maxProperties: 40,
    description:
      'Calls by result, as in `squall_rule_evaluations_total`, with `matched`, `sampled` and `value_too_long`. `/api/events` omits zeros.',
  }),
})

const rules = Type.Object({
  generation: process.rules.properties.generation,
  digest: process.rules.properties.digest,
  count: count('The number of rules in the file, of which at most 1,000 are listed.'),
  rules: list(
    rule,
    2_010,
    'The active rules: `builtIn`, then `temporary`, then those in the file, in order.',
  ),
})

const temporary = Type.Object({
  count: count('The number of temporary faults.'),
  faults: list(rule, 1_000, 'The temporary faults, oldest first, as in `/api/rules`.'),
})
const removal = Type.Object({
  name: maybe(text(NAME, 'The name of the fault to remove.')),
  all: maybe(flag('`true` without a name removes all temporary faults.')),
})

const fault = Type.Object({
  at: time('When the fault took effect.'),
  rule: text(NAME, 'The name of the rule.'),
  fault: text(40, 'The name of the fault.'),
  tool: maybe(text(NAME, 'The tool of a `tools/call`.')),
  method: maybe(text(NAME, 'The method, for other calls.')),
  id: maybe(
    Type.Unsafe<string | number>({
      type: ['string', 'number'],
      maxLength: NAME,
      description: 'The JSON-RPC ID of the call.',
    }),
  ),
  session: maybe(text(40, 'Prefix of a session hash.')),
  effect: maybe(text(NAME, 'Details of the effect that the fault name does not express.')),
  delayMs: maybe(Type.Number({ description: 'The delay, in milliseconds.' })),
})

const faults = {
  total: count('Number of faults since the start.'),
  faults: list(fault, 200, 'The newest faults, newest first.'),
}

const byOrigin = (description: string): TUnsafe<Readonly<Record<Origin, number>>> =>
  Type.Unsafe<Readonly<Record<Origin, number>>>({
    ...Type.Object({
      real: count('Caused by the upstream or the client, without a fault.'),
      injected: count('Caused by a fault.'),
      squall: count('Caused by Squall itself.'),
      injected_elsewhere: count('Caused by a fault of another Squall, with `--trust-markers`.'),
    }),
    description,
  })

/** Latencies of recent calls; null where there were none. */
const quantiles = (description: string) =>
  Type.Object(
    {
      p50: seconds('The median in seconds.'),
      p95: seconds('The 95th percentile in seconds.'),
      p99: seconds('The 99th percentile in seconds.'),
    },
    { description },
  )

const latency = {
  client: quantiles('Latency as seen by clients.'),
  upstream: quantiles('Latency of the upstream.'),
}

const tool = Type.Object({
  tool: text(130, 'The tool, as in metrics; empty for other methods.'),
  calls: byOrigin('Calls since the start.'),
  errors: byOrigin('Errors since the start.'),
  client: maybe(latency.client),
  upstream: maybe(latency.upstream),
})

const event = Type.Object({
  at: time('When the event was sent.'),
  state: Type.Object(process, { description: 'The body of `/api/state`, without `readiness`.' }),
  rules: Type.Unsafe<Static<typeof rules>>({
    ...rules,
    description: 'The rules, as returned by `/api/rules`.',
  }),
  tools: list(tool, 250, 'The tools that were called.'),
  latency: maybe(
    Type.Object(latency, { description: 'Call latencies over the last ten seconds.' }),
  ),
  errors: maybe(
    Type.Object(errors, {
      description:
        'The errors, as returned by `/api/errors`, limited to the last 30 kinds with one sample each.',
    }),
  ),
  destinations: maybe(destinationsSchema),
  tasks: maybe(count('Open agent tasks; absent with `--tasks=false`.')),
  faults: Type.Object(
    {
      whole: flag('Whether the list contains all stored faults, not only the new faults.'),
      ...faults,
    },
    { description: 'The faults since the previous event.' },
  ),
})

const change = Type.Object(
  {
    // Not blank, and no `maxLength`: its check would need ajv at runtime.
    reason: maybe(
      Type.String({
        pattern: '^(?=\\s*\\S).{1,200}$',
        description: 'The reason to show in the log and in `reasons`; 1 to 200 characters.',
      }),
    ),
  },
  { additionalProperties: false },
)
const changed = Type.Object({ ...arming, changed: flag('Whether the request changed the state.') })

/** The body of every unsuccessful response. */
const failure = Type.Object({
  error: text(NAME, 'The error message, as readable text.'),
  reasons: maybe(list(reason, 10, 'Why rules stay disarmed (409).')),
  paths: maybe(list(text(100, ''), 50, 'The paths that exist (404).')),
  allow: maybe(list(text(10, ''), 10, 'The methods that the path supports (405).')),
})

/** The JSON that is sent and received, by name. */
export const SCHEMAS = {
  state: Type.Object({ ...process, readiness }),
  readiness,
  rules,
  faults: Type.Object(faults),
  temporary,
  added: Type.Object({ fault: rule }),
  removal,
  removed: Type.Object({ removed: count('The number of removed faults.') }),
  errors: errorsSchema,
  call: callSchema,
  verdict: verdictSchema,
  tasks: tasksSchema,
  agents: agentsSchema,
  history: historySchema,
  event,
  change,
  changed,
  failure,
}
