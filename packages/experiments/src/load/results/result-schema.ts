import { COUNT_NAMES, indicatorsOf, noCounts } from '../../indicators/indicators.ts'
import { SENT_NAMES, TASK_NAMES } from './agent-result.ts'
import { ORIGINS } from './result.ts'
import { TOOL_COUNTS } from './tool-recorder.ts'

type Properties = Readonly<Record<string, object>>

/** Describes an object that has all `required` properties, and may have the `optional` ones. */
const objectOf = (required: Properties, optional: Properties = {}): object => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
})
const listOf = (items: object): object => ({ type: 'array', items })
const count = { type: 'number', minimum: 0 }
const counts = (names: readonly string[]): Properties =>
  Object.fromEntries(names.map((name) => [name, count]))
const text = { type: 'string' }
const measured = { type: ['number', 'null'] }
const histogram = objectOf({
  unit: { const: 'us' },
  perOctave: { const: 128 },
  ...counts(['count', 'sum', 'min', 'max']),
  buckets: { type: 'array', items: { type: 'integer', minimum: 0 }, maxItems: 10_000 },
})
const latency = objectOf({
  summary: { type: 'object', additionalProperties: measured },
  histogram,
})
const sample = objectOf({ at: text, message: text }, { by: text, trace: text })
const errors = listOf(
  objectOf(
    { kind: text, origin: text, count },
    { code: { type: 'number' }, samples: listOf(sample) },
  ),
)

const sent = objectOf(counts(SENT_NAMES))
const agents = objectOf(
  {
    tasks: objectOf(counts(TASK_NAMES)),
    totals: { type: 'object', additionalProperties: count },
    waiting: count,
    after: listOf(objectOf({ tool: text, fault: text, verdict: text, count })),
    duplicates: listOf(objectOf({ tool: text, idempotent: { type: 'boolean' }, count })),
  },
  {
    falsified: listOf(objectOf({ tool: text, verdict: text, count })),
    falseUses: listOf(objectOf({ tool: text, hint: text, count })),
    compared: objectOf({ load: sent, sidecar: sent }),
    problem: text,
    findings: listOf(objectOf({ severity: text, source: text, sentence: text, advice: text })),
  },
)

const margin = {
  type: ['object', 'null'],
  required: ['distance', 'ofLimit'],
  properties: {
    distance: { type: 'number' },
    ofLimit: measured,
    counted: objectOf({ unit: text, total: count, beyond: count, allowed: measured }),
  },
}

/** Checks the fields that merging and reports need; other fields are copied unchecked. */
export const RESULT_SCHEMA = objectOf(
  {
    squall: text,
    run: objectOf(
      {
        target: text,
        server: text,
        startedAt: text,
        durationMs: count,
        seed: { type: 'number' },
        complete: {},
        options: { type: 'object' },
      },
      { protocolVersion: text, client: text },
    ),
    counts: objectOf(counts(COUNT_NAMES)),
    indicators: {
      type: 'object',
      required: Object.keys(indicatorsOf(noCounts())),
      additionalProperties: measured,
    },
    arrivals: objectOf(counts(['planned', 'started', 'dropped', 'late', 'abandoned', 'skipped'])),
    errors,
    latency,
    tools: listOf(
      objectOf({ tool: text, errors, latency, ...counts(TOOL_COUNTS) }, { abandoned: count }),
    ),
    faults: listOf(
      objectOf({
        rule: text,
        fault: text,
        ...counts(['seen', 'errors', 'wrong']),
        tools: { type: 'object', additionalProperties: count },
        latency,
      }),
    ),
    timeline: objectOf({
      intervalMs: { type: 'number', minimum: 1000 },
      points: listOf(
        objectOf(
          {
            ...counts(['at', 'calls', 'ok', 'retries', 'dropped', 'inFlight']),
            errors: objectOf(counts(ORIGINS)),
            histogram,
          },
          { p50: measured, p99: measured },
        ),
      ),
    }),
    held: objectOf(counts(['asked', 'opened', 'refused', 'lost'])),
    slo: listOf(objectOf({ gate: text, measured, ok: { type: 'boolean' } }, { margin })),
  },
  { agents },
)
