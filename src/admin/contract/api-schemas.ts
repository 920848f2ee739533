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
    destination: text(
      300,
      'The dependency as configured, or `other` for addresses that match none.',
    ),
    open: count('Number of open connections.'),
    ok: count('Connections that closed without an error.'),
    real: count('Connections that failed without an injected fault.'),
    injected: count('Connections that a fault closed, or blocked until they were closed.'),
    sent: count('Bytes sent to the dependency.'),
    received: count('Bytes received from the dependency.'),
  }),
  130,
  'Connections to dependencies. Present only with `--outbound` or `--captured`.',
)

// The JSON of the admin port. Clients cut what is longer than a bound here. A field that is added
// after a release is optional: a client may be newer than the sidecar that it asks.

const DIGEST = 80

const reason = Type.Object({
  by: text(
    40,
    'What disarmed the rules: `environment`, `operator`, `guard`, `rollback-on` (a condition of that flag), `stopped` (`squall stop`), `draining`, or `file` for `enabled: false` in the rules file.',
  ),
  reason: text(500, 'A human-readable reason.'),
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
  code: text(40, 'A stable error code.'),
  path: text(
    NAME,
    'The path of the invalid key, such as `rules[0].percnt`. Empty if the error concerns the whole file.',
  ),
  message: text(1000, 'A human-readable error message.'),
})

const reload = {
  result: word(['applied', 'rejected', 'absent'], 'The outcome of the reload.'),
  digest: text(DIGEST, 'SHA-256 digest of this version of the rules.'),
  at: time('When this version was found.'),
  reason: maybe(text(NAME, 'Why no rules were found. Present only for `absent`.')),
  problemCount: maybe(count('The number of errors, at most 200. Present only for `rejected`.')),
  problems: maybe(list(problem, 50, 'The first 50 errors. Present only for `rejected`.')),
}

const process = {
  version: text(40, 'The version of Squall.'),
  environment: nullableText(80, 'The value of `--environment`.'),
  namespace: maybe(text(253, 'The namespace of the pod, if known.')),
  pod: maybe(text(253, 'The name of the pod, or the host name outside Kubernetes, if known.')),
  workload: maybe(text(253, 'The workload of the pod, if known.')),
  listeners: maybe(
    list(
      Type.Object({
        listen: text(NAME, 'The address that clients connect to.'),
        upstream: text(NAME, 'The address of the upstream.'),
      }),
      64,
      'The listeners, each with its upstream.',
    ),
  ),
  startedAt: time('When the process started.'),
  uptimeSeconds: Type.Number({ minimum: 0, description: 'Seconds since `startedAt`.' }),
  canChange: flag('Whether an admin token is set, which allows changes.'),
  ...arming,
  dryRun: flag('Whether `--dry-run` is set: rules match and count, but do not inject.'),
  activeFaults: count('The number of faults in progress.'),
  maxActiveFaults: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The maximum number of faults in progress; `null` if unlimited.',
  }),
  rules: Type.Object(
    {
      count: count('The number of rules.'),
      generation: count('The number of rules versions that have become active.'),
      digest: nullableText(DIGEST, 'SHA-256 digest of the active version.'),
      seed: maybe(count('The sampling seed, configured or random.')),
      since: time('When the version became active.'),
      temporary: maybe(count('The number of temporary faults, which `count` excludes.')),
    },
    { description: 'The active version of the rules. A rejected version does not replace it.' },
  ),
  foreignMarkers: maybe(
    word(
      ['ignored', 'trusted'],
      'Present once a response carries the marker of another Squall. `ignored`: such errors count as real. `trusted`: such errors count as injected elsewhere (`--trust-markers`).',
    ),
  ),
  unanchored: list(
    text(NAME, ''),
    20,
    'The first 20 timed rules (`for`, `ramp`, `stages` or `--max-duration`) without `appliedAt`. Their timing starts when this process first loads them, or at a later `from`.',
  ),
  lastReload: Type.Unsafe<Static<ReturnType<typeof Type.Object<typeof reload>>> | null>({
    ...Type.Object(reload),
    type: ['object', 'null'],
    description: 'The most recent reload; `null` before the first.',
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
      'The rule as written, on one line of at most 400 characters, without its name and without secrets. Omitted from `/api/events`.',
    ),
  ),
  about: word(['http', 'calls', 'connections'], 'What the rule matches.'),
  temporary: maybe(
    flag('Whether the rule was added through `/api/faults` and is not in the rules file.'),
  ),
  builtIn: maybe(flag('Whether the rule represents faults that clients request with headers.')),
  dryRun: maybe(flag('Whether the rule matches and counts calls without injecting faults.')),
  since: time(
    'When the timing of the rule started: `appliedAt`, or when this process first loaded the rule.',
  ),
  appliedAt: time('The `appliedAt` of the rule.'),
  from: time('When the rule starts to act.'),
  until: time('When the rule stops acting.'),
  phase: word(
    ['on', 'not_yet', 'expired', 'other_pod', 'disabled'],
    'Whether the rule is active. `other_pod`: active only on other replicas. `disabled`: disabled in the rules file.',
  ),
  percent: nullableNumber(
    'The percentage of calls that the rule samples now, as set by `percent`, `ramp` or `stages`; `null` for `builtIn`.',
  ),
  sampled: count('Calls that were sampled.'),
  active: count("Number of the rule's faults in progress."),
  counts: Type.Unsafe<Readonly<Partial<RuleCounts>>>({
    type: 'object',
    patternProperties: { '^[a-z][a-z_]{0,39}$': { type: 'integer', minimum: 0 } },
    maxProperties: 40,
    description:
      'Calls by result: the results of `squall_rule_evaluations_total`, plus `matched`, `sampled` and `value_too_long`. `/api/events` omits results that are zero.',
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
  tool: maybe(
    text(NAME, 'The tool of a `tools/call`, or of the call to which the message belongs.'),
  ),
  method: maybe(text(NAME, 'The method, for other calls.')),
  id: maybe(
    Type.Unsafe<string | number>({
      type: ['string', 'number'],
      maxLength: NAME,
      description:
        'The JSON-RPC ID of the call. Depending on `--log-ids`, in full, hashed or omitted.',
    }),
  ),
  session: maybe(text(40, 'Prefix of a session hash.')),
  effect: maybe(text(NAME, 'Details of the effect, beyond the name of the fault.')),
  delayMs: maybe(Type.Number({ description: 'The delay, in milliseconds.' })),
})

const faults = {
  total: count('Number of faults since the process started.'),
  faults: list(fault, 200, 'The most recent faults, newest first.'),
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
  calls: byOrigin('Calls since the process started.'),
  errors: byOrigin('Errors since the process started.'),
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
  tasks: maybe(count('Open agent tasks. Absent with `--tasks=false`.')),
  faults: Type.Object(
    {
      whole: flag('Whether the list contains all stored faults, instead of only the new ones.'),
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
  error: text(NAME, 'A human-readable error message.'),
  reasons: maybe(list(reason, 10, 'Why the rules are still disarmed (409).')),
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
