import * as Type from 'typebox'
import type { TUnsafe } from 'typebox'
import { ORIGINS, OUTCOMES } from '../../mcp/call.ts'
import {
  count,
  flag,
  list,
  maybe,
  NAME,
  nullableNumber,
  seconds,
  text,
  time,
  word,
} from './schema-parts.ts'

// The JSON of single calls: /api/tap, /api/errors and the call log.

const outcome = word(OUTCOMES, 'Outcome of the call, as seen by the client.')
const origin = word(ORIGINS, 'Origin of the outcome; `real` if no fault caused it.')
const status = maybe(count('The HTTP status code, if the call failed with an HTTP error.'))
const code = maybe(
  Type.Unsafe<number>({ type: 'integer', description: 'The code of a JSON-RPC error.' }),
)
const tool = maybe(text(NAME, 'The tool of a `tools/call`, or of the call that began a task.'))
const method = text(NAME, 'The method of the call.')
const effect = { rule: text(NAME, 'Name of the rule.'), fault: text(40, 'Name of the fault.') }
const who = {
  id: maybe(
    Type.Unsafe<string | number>({
      type: ['string', 'number'],
      maxLength: NAME,
      description: 'The JSON-RPC ID. Depending on `--log-ids`, in full, hashed or omitted.',
    }),
  ),
  client: maybe(text(NAME, 'Name and version of the client.')),
  session: maybe(text(40, 'Prefix of a session hash.')),
  trace: maybe(text(40, 'The trace ID from `traceparent`, or of the exported span.')),
  traceUrl: maybe(text(2100, 'Link to a sampled trace, from `--trace-url`.')),
}
const milliseconds = (description: string): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'number', description })

/** One call that has ended. */
export const callSchema = Type.Object({
  at: time('When the call ended.'),
  method,
  tool,
  ...who,
  task: maybe(text(NAME, 'Task key or a prefix of its hash, depending on `--log-ids`.')),
  outcome,
  origin,
  status,
  code,
  durationMs: maybe(
    milliseconds(
      'Milliseconds from the last byte of the request to the last byte of the response. Absent for calls that are meant to stay open.',
    ),
  ),
  upstreamMs: maybe(
    milliseconds(
      'Upstream latency in milliseconds. Absent if the call did not reach the upstream.',
    ),
  ),
  requestBytes: maybe(count('The size of the request in bytes. Absent for a call in a batch.')),
  resultBytes: maybe(
    count('Size in bytes of the message that contains the tool result, if known.'),
  ),
  changed: maybe(flag('Whether a fault changed the request or response of a successful call.')),
  faults: maybe(list(Type.Object(effect), 200, 'The faults that took effect on the call.')),
})

const sample = Type.Object({
  at: time('When the call ended.'),
  message: maybe(text(NAME, 'The error message, on one line and without secrets.')),
  ...who,
})

const kind = Type.Object({
  method,
  tool,
  outcome,
  origin,
  status,
  code,
  rule: maybe(text(NAME, 'The rule, if the error was injected.')),
  fault: maybe(text(40, 'The fault, if the error was injected.')),
  first: time('When the first of these calls ended.'),
  last: time('When the last of these calls ended.'),
  count: count('The number of these errors.'),
  samples: list(sample, 4, 'Samples with different messages, newest first.'),
})

/** Errors of recent calls, alike ones together. */
export const errors = {
  total: count('Number of errors since the process started.'),
  dropped: count('Number of errors of kinds that are no longer stored.'),
  errors: list(
    kind,
    200,
    'Errors by tool, outcome, origin, status, code and fault; the most recent first.',
  ),
}
export const errorsSchema = Type.Object(errors)

const column = (description: string) =>
  list(Type.Unsafe<number | null>({ type: ['number', 'null'], description: '' }), 180, description)

const recentTool = Type.Object({
  tool: text(130, 'The tool, as in metrics.'),
  calls: count('Number of calls, excluding calls that a fault ended.'),
  errors: count('Number of failed calls, excluding calls that a fault ended.'),
  p95: seconds('The 95th percentile of the upstream latency in seconds; `null` if unknown.'),
  bytes: nullableNumber('The mean size of a tool result in bytes; `null` if unknown.'),
  perTask: nullableNumber('Mean number of calls in a task that uses the tool, without retries.'),
})

/** The last minutes: point by point, and tool by tool. */
export const historySchema = Type.Object({
  stepSeconds: count('The interval between two points, in seconds.'),
  at: list(
    Type.Unsafe<number>({ type: 'number', description: '' }),
    180,
    'The time of each point, in seconds since the epoch, oldest first.',
  ),
  series: list(
    Type.Object({
      tool: maybe(text(NAME, 'The tool, as in `/api/events`. Absent in the series for all calls.')),
      calls: column('Calls per second; `null` where unknown.'),
      real: column('Real errors per second.'),
      injected: column('Injected errors per second.'),
      squall: column('Errors of Squall itself per second.'),
      injected_elsewhere: column('Errors that another Squall injected, per second.'),
      p50: column('Median client latency in seconds.'),
      p95: column('95th percentile of the client latency in seconds.'),
      upstreamP50: column('Median upstream latency in seconds.'),
      upstreamP95: column('95th percentile of the upstream latency in seconds.'),
    }),
    21,
    'One series for all calls, and one for each of the first 20 tools that were called; all other methods count as one tool.',
  ),
  tools: maybe(
    list(
      recentTool,
      250,
      'The tools that were called in the last 10 to 15 minutes, excluding calls that a fault ended.',
    ),
  ),
})

const pattern = (what: string): TUnsafe<string> =>
  text(512, `${what}; \`*\` and \`?\` are wildcards. Repeatable.`)

/** The filters of /api/tap: a call passes that fits all of them. */
export const tapQuery = Type.Object({
  tool: maybe(pattern('Calls of this tool')),
  method: maybe(pattern('Calls of this method')),
  outcome: maybe(word(OUTCOMES, 'Calls with this outcome. Repeatable.')),
  origin: maybe(word(ORIGINS, 'Calls whose outcome has this origin. Repeatable.')),
  rule: maybe(pattern('Calls with a fault of this rule')),
  session: maybe(pattern('Calls of this session, by hash prefix')),
  errors: maybe(
    flag('If `true`, only failed calls. Combined with `faults`: calls that match either filter.'),
  ),
  faults: maybe(flag('If `true`, only calls that a fault affected.')),
  slowerThan: maybe(text(20, 'Calls that took longer than this duration, such as `250ms`.')),
})
