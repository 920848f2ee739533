import { COUNT_NAMES, noCounts } from '../../indicators/counts.ts'
import { indicatorsOf } from '../../indicators/indicators.ts'
import { ORIGINS } from './result.ts'
import { TOOL_COUNTS } from './tool-recorder.ts'

const count = { type: 'number', minimum: 0 }
const text = { type: 'string' }
const histogram = {
  type: 'object',
  required: ['unit', 'perOctave', 'count', 'sum', 'min', 'max', 'buckets'],
  properties: {
    unit: { const: 'us' },
    perOctave: { const: 128 },
    count,
    sum: count,
    min: count,
    max: count,
    buckets: { type: 'array', items: { type: 'integer', minimum: 0 }, maxItems: 10_000 },
  },
}
const measured = { type: ['number', 'null'] }
const latency = {
  type: 'object',
  required: ['summary', 'histogram'],
  properties: { summary: { type: 'object', additionalProperties: measured }, histogram },
}
const errors = {
  type: 'array',
  items: {
    type: 'object',
    required: ['kind', 'origin', 'count'],
    properties: { kind: text, origin: text, code: { type: 'number' }, count },
  },
}
interface CountsSchema {
  readonly type: 'object'
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, typeof count>>
}
const counts = (names: readonly string[]): CountsSchema => ({
  type: 'object',
  required: names,
  properties: Object.fromEntries(names.map((name) => [name, count])),
})
const POINT_COUNTS = ['at', 'calls', 'ok', 'retries', 'dropped', 'inFlight']
const INDICATOR_NAMES = Object.keys(indicatorsOf(noCounts()))
const listOf = (items: object): object => ({ type: 'array', items })

/** Checks the fields that merging and reports need; other fields are copied unchecked. */
export const RESULT_SCHEMA = {
  type: 'object',
  required: [
    'squall',
    'run',
    'counts',
    'indicators',
    'arrivals',
    'errors',
    'latency',
    'tools',
    'faults',
    'timeline',
    'held',
    'slo',
  ],
  properties: {
    run: {
      type: 'object',
      required: ['target', 'server', 'startedAt', 'durationMs', 'seed', 'complete', 'options'],
      properties: {
        target: text,
        server: text,
        protocolVersion: text,
        client: text,
        startedAt: text,
        durationMs: count,
        seed: { type: 'number' },
        options: { type: 'object' },
      },
    },
    squall: text,
    counts: counts(COUNT_NAMES),
    indicators: { type: 'object', required: INDICATOR_NAMES, additionalProperties: measured },
    arrivals: counts(['planned', 'started', 'dropped', 'late', 'abandoned', 'skipped']),
    held: counts(['asked', 'opened', 'refused', 'lost']),
    errors,
    latency,
    tools: listOf({
      type: 'object',
      required: ['tool', 'errors', 'latency', ...TOOL_COUNTS],
      properties: {
        ...counts(TOOL_COUNTS).properties,
        abandoned: count,
        tool: text,
        errors,
        latency,
      },
    }),
    faults: listOf({
      type: 'object',
      required: ['rule', 'fault', 'seen', 'errors', 'wrong', 'tools', 'latency'],
      properties: {
        rule: text,
        fault: text,
        seen: count,
        errors: count,
        wrong: count,
        tools: { type: 'object', additionalProperties: count },
        latency,
      },
    }),
    timeline: {
      type: 'object',
      required: ['intervalMs', 'points'],
      properties: {
        intervalMs: { type: 'number', minimum: 1000 },
        points: listOf({
          type: 'object',
          required: ['at', 'calls', 'ok', 'retries', 'errors', 'dropped', 'inFlight', 'histogram'],
          properties: {
            ...counts(POINT_COUNTS).properties,
            errors: counts(ORIGINS),
            p50: measured,
            p99: measured,
            histogram,
          },
        }),
      },
    },
    slo: listOf({
      type: 'object',
      required: ['gate', 'measured', 'ok'],
      properties: { gate: text, measured, ok: { type: 'boolean' } },
    }),
  },
}
