import type { Static, TUnsafe } from 'typebox'
import type { Origin } from '../../mcp/call.ts'
import type { RuleCounts } from '../../rules/select/rule-counts.ts'
import { destinationsSchema } from './destinations-schema.ts'
import { agentsSchema, tasksSchema, verdictSchema } from './task-schemas.ts'
import { callSchema, errors, errorsSchema, historySchema } from './call-schemas.ts'
import {
  count,
  flag,
  list,
  maybe,
  NAME,
  nullableText,
  seconds,
  text,
  time,
  word,
} from './schema-parts.ts'
import * as Type from 'typebox'

// The JSON of the admin port. Clients cut what is longer than a bound here. A field that is added
// after a release is optional: a client may be newer than the sidecar that it asks.

const DIGEST = 80

const reason = Type.Object({
  by: text(
    40,
    'Who disarmed: `environment`, `operator`, `guard`, `rollback-on` (a condition of that flag), `stopped` (`squall stop`), `draining`, or `file` for `enabled: false` in the rules file.',
  ),
  reason: text(500, 'The reason in words.'),
  at: time('When.'),
})

const arming = {
  armed: flag('Whether faults may be injected.'),
  reasons: list(reason, 10, 'Every reason why rules are disarmed.'),
}

const problem = Type.Object({
  file: text(NAME, 'The rules file.'),
  line: count('The line, from 1.'),
  column: count('The column, from 1.'),
  code: text(40, 'A stable code of the error.'),
  path: text(NAME, 'The key, such as `rules[0].percnt`; empty for the whole file.'),
  message: text(1000, 'The error in words.'),
})

const reload = {
  result: word(['applied', 'rejected', 'absent'], 'What happened to this version.'),
  digest: text(DIGEST, 'SHA-256 of the version.'),
  at: time('When it was found.'),
  reason: maybe(text(NAME, 'Why there is no file; only when `absent`.')),
  problemCount: maybe(count('The number of errors; only when `rejected`.')),
  problems: maybe(list(problem, 50, 'The first 50 errors; only when `rejected`.')),
}

const process = {
  version: text(40, 'The version of Squall.'),
  environment: nullableText(80, 'The value of `--environment`.'),
  namespace: maybe(text(253, 'The namespace of the pod; only where it is known.')),
  pod: maybe(text(253, 'The name of the pod, or else of the machine; only where it is known.')),
  workload: maybe(text(253, 'The workload of the pod; only where it is known.')),
  listeners: maybe(
    list(
      Type.Object({
        listen: text(NAME, 'The address for clients.'),
        upstream: text(NAME, 'The address of the MCP server behind it.'),
      }),
      64,
      'Each listener with its upstream.',
    ),
  ),
  startedAt: time('When the process started.'),
  uptimeSeconds: Type.Number({ minimum: 0, description: 'Seconds since then.' }),
  canChange: flag('Whether an admin token is set, without which nothing can be changed.'),
  ...arming,
  dryRun: flag('Whether `--dry-run` is on: rules match and are counted, and inject nothing.'),
  activeFaults: count('The faults in progress.'),
  maxActiveFaults: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The most faults in progress at a time; `null` without a limit.',
  }),
  rules: Type.Object(
    {
      count: count('The number of rules.'),
      generation: count('The number of versions that became active.'),
      digest: nullableText(DIGEST, 'SHA-256 of the version.'),
      seed: maybe(count('The seed of the sampling, written or drawn at the start.')),
      since: time('When it became active.'),
      temporary: maybe(count('The number of temporary faults, which `count` leaves out.')),
    },
    { description: 'The active version of the rules; after a rejected one still the one before.' },
  ),
  foreignMarkers: maybe(
    word(
      ['ignored', 'trusted'],
      'Responses of the upstream have carried markers of another Squall: `ignored` counts its errors as real, `trusted` believes the markers, by `--trust-markers`.',
    ),
  ),
  unanchored: list(
    text(NAME, ''),
    20,
    'Rules whose times count from when this process first read them, because the file does not say when they were applied.',
  ),
  lastReload: Type.Unsafe<Static<ReturnType<typeof Type.Object<typeof reload>>> | null>({
    ...Type.Object(reload),
    type: ['object', 'null'],
    description: 'The version that was found last; `null` before there was one.',
  }),
}

const readiness = Type.Object({
  ready: flag('Whether traffic should be sent here.'),
  reason: text(NAME, 'Why, or why not.'),
  listening: maybe(flag('Whether traffic is accepted, be the upstream there or not.')),
})

const rule = Type.Object({
  name: text(NAME, 'The name of the rule.'),
  faults: list(text(40, ''), 20, 'The names of its faults.'),
  text: maybe(
    text(
      NAME,
      'The rule as written, without its name, on one line and without secrets; cut after 400 characters. `/api/events` leaves it out.',
    ),
  ),
  about: word(['http', 'calls', 'connections'], 'What it matches.'),
  temporary: maybe(flag('The rule was added by `/api/faults`; it is in no file.')),
  builtIn: maybe(flag('The rule stands for what callers ask for by headers; it is in no file.')),
  dryRun: maybe(flag('The rule matches and is counted, and injects nothing.')),
  since: time('When its times and counts began.'),
  appliedAt: time('Its `appliedAt`.'),
  from: time('When it begins.'),
  until: time('When it ends.'),
  phase: word(
    ['on', 'not_yet', 'expired', 'other_pod', 'disabled'],
    'Whether it is active; `other_pod` when it is for other replicas, `disabled` when the file disables it.',
  ),
  percent: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'Its share of calls now, which `ramp` and `stages` move; `null` for `builtIn`.',
  }),
  sampled: count('Calls that were sampled.'),
  active: count('Its faults in progress.'),
  counts: Type.Unsafe<Readonly<Partial<RuleCounts>>>({
    type: 'object',
    patternProperties: { '^[a-z][a-z_]{0,39}$': { type: 'integer', minimum: 0 } },
    maxProperties: 40,
    description:
      'Calls by result, as in `squall_rule_evaluations_total`, with `matched`, `sampled` and `value_too_long`. `/api/events` leaves out those that are 0.',
  }),
})

const rules = Type.Object({
  generation: process.rules.properties.generation,
  digest: process.rules.properties.digest,
  count: count('The rules of the file; more than are listed where there are over 1,000.'),
  rules: list(
    rule,
    2_010,
    'The active rules: `builtIn` ones, `temporary` ones, then those of the file in its order.',
  ),
})

const temporary = Type.Object({
  count: count('The number of temporary faults.'),
  faults: list(
    rule,
    1_000,
    'The temporary faults in the order of their adding, as in `/api/rules`.',
  ),
})
const removal = Type.Object({
  name: maybe(text(NAME, 'The name of the fault to remove.')),
  all: maybe(flag('`true` without a name: remove every temporary fault.')),
})

const fault = Type.Object({
  at: time('When.'),
  rule: text(NAME, 'The rule.'),
  fault: text(40, 'The fault.'),
  tool: maybe(text(NAME, 'The tool, for calls of tools.')),
  method: maybe(text(NAME, 'The method, for other calls.')),
  id: maybe(
    Type.Unsafe<string | number>({
      type: ['string', 'number'],
      maxLength: NAME,
      description: 'The JSON-RPC id of the call.',
    }),
  ),
  session: maybe(text(40, 'The start of a hash of the session.')),
  effect: maybe(text(NAME, 'What the fault did, where its name does not say it.')),
  delayMs: maybe(Type.Number({ description: 'The delay, in milliseconds.' })),
})

const faults = {
  total: count('All faults since the start.'),
  faults: list(fault, 200, 'The newest faults, newest first.'),
}

const byOrigin = (description: string): TUnsafe<Readonly<Record<Origin, number>>> =>
  Type.Unsafe<Readonly<Record<Origin, number>>>({
    ...Type.Object({
      real: count('By the upstream or the client, without a fault.'),
      injected: count('By a fault.'),
      squall: count('By Squall itself.'),
      injected_elsewhere: count('By a fault of another Squall, with `--trust-markers`.'),
    }),
    description,
  })

const quantiles = (description: string): TUnsafe<Quantiles> =>
  Type.Unsafe<Quantiles>({
    ...Type.Object({
      p50: seconds('The median.'),
      p95: seconds('The 95th percentile.'),
      p99: seconds('The 99th percentile.'),
    }),
    description,
  })

/** Latencies of recent calls in seconds; null where there were none. */
export interface Quantiles {
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

const latency = {
  client: quantiles('As clients saw it.'),
  upstream: quantiles('In the upstream.'),
}

const tool = Type.Object({
  tool: text(130, 'The tool, as in metrics; empty for all other methods.'),
  calls: byOrigin('Calls since the start.'),
  errors: byOrigin('Errors since the start.'),
  client: maybe(latency.client),
  upstream: maybe(latency.upstream),
})

const event = Type.Object({
  at: time('When.'),
  state: Type.Object(process, { description: 'As `/api/state`, without `readiness`.' }),
  rules: Type.Unsafe<Static<typeof rules>>({ ...rules, description: 'As `/api/rules`.' }),
  tools: list(tool, 250, 'The tools that were called.'),
  latency: maybe(
    Type.Object(latency, { description: 'Seconds of the calls of the last ten seconds.' }),
  ),
  errors: maybe(
    Type.Object(errors, { description: 'As `/api/errors`: the last 30 kinds, one sample each.' }),
  ),
  destinations: maybe(destinationsSchema),
  tasks: maybe(count('Tasks of agents that have not ended; missing with `--tasks=false`.')),
  faults: Type.Object(
    { whole: flag('Whether these are all that are kept, and not only new ones.'), ...faults },
    { description: 'The faults since the event before.' },
  ),
})

const change = Type.Object(
  {
    // Not blank, and no `maxLength`: its check would need ajv at runtime.
    reason: maybe(
      Type.String({
        pattern: '^(?=\\s*\\S).{1,200}$',
        description: 'The reason, for the log and for `reasons`: 1 to 200 characters.',
      }),
    ),
  },
  { additionalProperties: false },
)
const changed = Type.Object({ ...arming, changed: flag('False when it was so already.') })

/** The body of every response that is no success. */
const failure = Type.Object({
  error: text(NAME, 'What is wrong.'),
  reasons: maybe(list(reason, 10, 'What keeps rules disarmed (409).')),
  paths: maybe(list(text(100, ''), 50, 'The paths that there are (404).')),
  allow: maybe(list(text(10, ''), 10, 'The methods that there are (405).')),
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
