import type { Static, TObject, TProperties, TSchema } from 'typebox'
import * as Type from 'typebox'
import type { Agents, Tasks } from '#admin-api'
import {
  COUNT_NAMES,
  type IndicatorCounts,
  type Indicators,
  indicatorsOf,
  noCounts,
} from '../../indicators/indicators.ts'

/** Identifies the format of the result. Incompatible changes increase the number. */
export const LOAD_SCHEMA = 'squall.load/1'

/**
 * The kind of an error: `http` a status of 400 or more, `rpc` a JSON-RPC error, `tool` a result
 * with `isError`, `timeout`, `reset` a broken connection, `refused` a refused connection,
 * `incomplete` a response that ended early, `malformed` a response that is not MCP, `breaker` a
 * call that was not sent.
 */
export type ErrorKind =
  'http' | 'rpc' | 'tool' | 'timeout' | 'reset' | 'refused' | 'incomplete' | 'malformed' | 'breaker'

export const ORIGINS = ['injected', 'real', 'unattributed', 'squall', 'client'] as const

/**
 * The origin of an error: `injected` the response carries the marker of a fault; `real` the
 * response carries none; `unattributed` no response could carry a marker; `squall` the sidecar
 * failed; `client` the load did not send the call.
 */
export type Origin = (typeof ORIGINS)[number]

export function noErrors(): Record<Origin, number> {
  return { injected: 0, real: 0, unattributed: 0, squall: 0, client: 0 }
}

export const CLIENT_KINDS = ['lean', 'sdk-v1', 'sdk-v2'] as const

export type ClientKind = (typeof CLIENT_KINDS)[number]

/** The requests of tasks that were sent, or that sidecars counted: calls are those without retries. */
export const SENT_NAMES = ['tasks', 'calls', 'retries'] as const
/** Tasks with their results so far; `wasted` and `silent` as in `/api/tasks`. */
export const TASK_NAMES = [...SENT_NAMES, 'ok', 'recovered', 'failed', 'wasted', 'silent'] as const
/** The properties of a call that are counted by tool and over the whole run. */
export const CHECKS = ['responded', 'schemaOk', 'usable', 'correct', 'inTime'] as const
export const TOOL_COUNTS = ['calls', 'ok', 'retries', ...CHECKS] as const

/** Describes an object; members that are not named are copied unchecked. */
export const objectOf = <Members extends TProperties>(members: Members) =>
  Type.Unsafe<Readonly<Static<TObject<Members>>>>(Type.Object(members))
export const listOf = <Item extends TSchema>(items: Item) =>
  Type.Unsafe<readonly Static<Item>[]>(Type.Array(items))
export const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema)
export const count = Type.Number({ minimum: 0 })
export const number = Type.Number()
export const flag = Type.Boolean()
const counts = <const Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, count])) as Record<Name, typeof count>
const countBy = Type.Unsafe<Readonly<Record<string, number>>>({
  type: 'object',
  additionalProperties: count,
})
export const text = Type.String()
/** A name that a later version may have more of. */
export const word = <Word extends string>() => Type.Unsafe<Word>(text)
/** A number, or null where nothing was measured. */
export const measured = Type.Unsafe<number | null>({ type: ['number', 'null'] })

const histogram = objectOf({
  unit: Type.Literal('us'),
  /** The buckets per doubling of the value. */
  perOctave: Type.Literal(128),
  ...counts(['count', 'sum', 'min', 'max']),
  /** Pairs of the distance to the previous bucket and the number of values. */
  buckets: Type.Unsafe<readonly number[]>(
    Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 10_000 }),
  ),
})

type Quantile = 'mean' | 'min' | 'p50' | 'p90' | 'p95' | 'p99' | 'p999' | 'max'

const latency = objectOf({
  /** In milliseconds; in the open model from the intended send time. */
  summary: Type.Unsafe<Readonly<Record<Quantile, number | null>>>({
    type: 'object',
    additionalProperties: measured,
  }),
  histogram,
})

const errors = listOf(
  objectOf({
    kind: word<ErrorKind>(),
    origin: word<Origin>(),
    /** The status of an `http` error, or the code of an `rpc` error; absent for others. */
    code: maybe(number),
    count,
    /** A few of the errors of a tool, with different messages, newest first. */
    samples: maybe(
      listOf(
        objectOf({
          /** ISO 8601. */
          at: text,
          /** One line, without secrets. */
          message: text,
          /** The fault that injected the error: `rule/fault`. */
          by: maybe(text),
          /** The id of the trace of the call. */
          trace: maybe(text),
        }),
      ),
    ),
  }),
)

const sent = objectOf(counts(SENT_NAMES))

/** Describes what sidecars counted during a run, about all of their clients. */
const agents = objectOf({
  tasks: objectOf(counts(TASK_NAMES)),
  /** The faults and errors by verdict. */
  totals: countBy,
  /** Faults and errors without a verdict at the end. */
  waiting: count,
  /** The verdicts by tool and fault, the most frequent first. */
  after: listOf(objectOf({ tool: text, fault: text, verdict: text, count })),
  /** The calls that were executed twice, by tool. */
  duplicates: listOf(objectOf({ tool: text, idempotent: flag, count })),
  /** The results with false values, and the calls that used one; absent in older results. */
  falsified: maybe(
    Type.Unsafe<Tasks['falsified']>(listOf(objectOf({ tool: text, verdict: text, count }))),
  ),
  falseUses: maybe(
    Type.Unsafe<Tasks['falseUses']>(listOf(objectOf({ tool: text, hint: text, count }))),
  ),
  /** Both counts of the requests of this load; absent where they cannot be compared. */
  compared: maybe(objectOf({ load: sent, sidecar: sent })),
  /** The reason for which counts are missing; absent when they are complete. */
  problem: maybe(text),
  /** The findings about agents; absent without any. */
  findings: maybe(
    Type.Unsafe<Agents['findings']>(
      listOf(objectOf({ severity: text, source: text, sentence: text, advice: text })),
    ),
  ),
})

/** The distance of a measured value from the limit of its gate. */
const margin = objectOf({
  /** In the unit of the limit; negative beyond the limit. */
  distance: number,
  /** The distance as a share of the limit; null when the limit is 0. */
  ofLimit: measured,
  /** The calls, tasks or verdicts that the gate counts; absent for numbers without a unit. */
  counted: maybe(
    objectOf({
      unit: word<'calls' | 'tasks' | 'verdicts'>(),
      total: count,
      /** Failed, or slower than the limit. */
      beyond: count,
      /** The highest number beyond at which the gate passes; null when no number decides it. */
      allowed: measured,
    }),
  ),
})

/** The members of the result of a gate. */
export const verdict = {
  /** The text as written, such as `p99<2s`. */
  gate: text,
  limit: number,
  /** In the unit of the limit; null without a measurement. */
  measured,
  ok: flag,
  /** Null without a measurement. */
  margin: maybe(Type.Unsafe<Static<typeof margin> | null>({ ...margin, type: ['object', 'null'] })),
}

const run = objectOf({
  /** Without user, password and query. */
  target: text,
  server: text,
  protocolVersion: text,
  client: word<ClientKind>(),
  /** ISO 8601. */
  startedAt: text,
  durationMs: count,
  seed: number,
  model: word<'open' | 'closed'>(),
  /** False when the run was ended early. */
  complete: flag,
  /** The part of a load that one of several machines runs. */
  shard: maybe(objectOf({ index: number, count })),
  /** The number of merged results; absent for a single run. */
  mergedFrom: maybe(number),
  /** The tools that were not called because they were not named; absent without any. */
  leftOut: maybe(
    listOf(
      objectOf({
        tool: text,
        /** `no_hint`: the tool has no `readOnlyHint`, and consent was not given. */
        why: word<'destructive' | 'not_read_only' | 'no_hint'>(),
      }),
    ),
  ),
  /** The number of faults that the sidecar dropped between two polls. */
  missedFaults: maybe(number),
  /** The options, without secrets. */
  options: Type.Unsafe<Readonly<Record<string, string | number | boolean | readonly string[]>>>({
    type: 'object',
  }),
})

/** The result of a load. Merging and reports need what is described here. */
export const RESULT_SCHEMA = objectOf({
  schema: Type.Literal(LOAD_SCHEMA),
  squall: text,
  run,
  counts: Type.Unsafe<IndicatorCounts>(objectOf(counts(COUNT_NAMES))),
  indicators: Type.Unsafe<Indicators>({
    type: 'object',
    required: Object.keys(indicatorsOf(noCounts())),
    additionalProperties: measured,
  }),
  /** Arrivals of the open model, in calls; in the closed model `planned` equals `started`. */
  arrivals: objectOf({
    planned: count,
    started: count,
    /** Not started because too many calls were in flight. */
    dropped: count,
    /** Started more than 50 ms late; the latency counts from the planned time. */
    late: count,
    /** Cut at the end of the run, counted nowhere else. */
    abandoned: count,
    /** Cut calls that waited longer than all others, which gates count as timeouts. */
    hung: maybe(count),
    /** The calls that a closed model would have made while the server hung, also timeouts. */
    missed: maybe(count),
    /** The least number of tasks with the hung and the missed calls. */
    hungTasks: maybe(count),
    /** Not sent because the task would have missed its deadline. */
    skipped: count,
  }),
  errors,
  latency,
  tools: listOf(
    objectOf({
      tool: text,
      /** `ok` is responded, correct and in time. */
      ...counts(TOOL_COUNTS),
      /** Calls cut at the end of the run, counted nowhere else; absent without any. */
      abandoned: maybe(count),
      /** The errors of failed calls, after their retries. */
      errors,
      latency,
    }),
  ),
  /** The injections of each fault of each rule, counted by marker. */
  faults: listOf(
    objectOf({
      rule: text,
      fault: text,
      /** Attempts whose response carried the marker. */
      seen: count,
      /** The attempts among them that ended in an error. */
      errors: count,
      /** The attempts among them with a wrong result and no error. */
      wrong: count,
      tools: countBy,
      latency,
    }),
  ),
  timeline: objectOf({
    intervalMs: Type.Number({ minimum: 1000 }),
    /** The counts of each interval. A call belongs to the interval in which it ended. */
    points: listOf(
      objectOf({
        /** Start of the interval in milliseconds after the start of the run. */
        at: count,
        ...counts(['calls', 'ok', 'retries']),
        errors: objectOf(counts(ORIGINS)),
        /** Arrivals that could not be started. */
        dropped: count,
        /** In-flight calls at the end of the interval. */
        inFlight: count,
        /** Milliseconds; null when no call ended. */
        p50: measured,
        p99: measured,
        histogram,
      }),
    ),
  }),
  /** Of these streams, `lost` ones were ended by the server during the run. */
  held: objectOf(counts(['asked', 'opened', 'refused', 'lost'])),
  /** Absent without sidecars that group calls into tasks. */
  agents: maybe(agents),
  /** The results of the gates. */
  slo: listOf(objectOf(verdict)),
})

export type LoadResult = Static<typeof RESULT_SCHEMA>

export type RunInfo = LoadResult['run']
export type Shard = NonNullable<RunInfo['shard']>
export type LeftOutTool = NonNullable<RunInfo['leftOut']>[number]
export type Arrivals = LoadResult['arrivals']
export type ErrorCount = LoadResult['errors'][number]
export type ErrorSample = NonNullable<ErrorCount['samples']>[number]
export type Latency = LoadResult['latency']
/** The quantiles in milliseconds; null for an empty histogram. */
export type LatencySummary = Latency['summary']
/** Latencies in log-linear buckets of microseconds, with a relative error of at most 1 %. */
export type HistogramData = Latency['histogram']
export type ToolResult = LoadResult['tools'][number]
export type FaultSeen = LoadResult['faults'][number]
export type Timeline = LoadResult['timeline']
export type TimePoint = Timeline['points'][number]
export type HeldStreams = LoadResult['held']
export type AgentResult = NonNullable<LoadResult['agents']>
export type SloVerdict = LoadResult['slo'][number]
export type SloMargin = NonNullable<SloVerdict['margin']>
