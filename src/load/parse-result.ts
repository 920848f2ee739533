import { COUNT_NAMES } from '../indicators/counts.ts'
import { isRecord } from '../mcp/json-rpc.ts'
import { LoadError } from './load-error.ts'
import { LOAD_SCHEMA, type LoadResult } from './result.ts'
import { schemaCheck } from './schema-check.ts'

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
const latency = { type: 'object', required: ['summary', 'histogram'], properties: { histogram } }
const errors = {
  type: 'array',
  items: {
    type: 'object',
    required: ['kind', 'origin', 'count'],
    properties: { kind: text, origin: text, code: { type: 'number' }, count },
  },
}
const counts = (names: readonly string[]): object => ({
  type: 'object',
  required: names,
  properties: Object.fromEntries(names.map((name) => [name, count])),
})
const listOf = (items: object): object => ({ type: 'array', items })

/** What a merge relies on; the rest is carried along. */
const SCHEMA = {
  type: 'object',
  required: [
    'run',
    'counts',
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
      required: ['target', 'startedAt', 'durationMs', 'seed', 'complete', 'options'],
      properties: { target: text, startedAt: text, durationMs: count, seed: { type: 'number' } },
    },
    counts: counts(COUNT_NAMES),
    arrivals: counts(['planned', 'started', 'dropped', 'late', 'abandoned', 'skipped']),
    held: counts(['asked', 'opened', 'refused', 'lost']),
    errors,
    latency,
    tools: listOf({
      type: 'object',
      required: ['tool', 'calls', 'ok', 'retries', 'responded', 'errors', 'latency'],
      properties: { tool: text, calls: count, ok: count, retries: count, errors, latency },
    }),
    faults: listOf({
      type: 'object',
      required: ['rule', 'fault', 'seen', 'errors', 'wrong', 'tools', 'latency'],
      properties: { rule: text, fault: text, seen: count, tools: { type: 'object' }, latency },
    }),
    timeline: {
      type: 'object',
      required: ['intervalMs', 'points'],
      properties: {
        intervalMs: { type: 'number', minimum: 1000 },
        points: listOf({
          type: 'object',
          required: ['at', 'calls', 'ok', 'retries', 'errors', 'dropped', 'inFlight', 'histogram'],
          properties: { at: count, calls: count, errors: { type: 'object' }, histogram },
        }),
      },
    },
    slo: listOf({ type: 'object', required: ['gate'], properties: { gate: text } }),
  },
}

/** Reads the text of a file with a result. */
export function parseResult(source: string, file: string): LoadResult {
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch {
    throw bad(file, 'is no JSON')
  }
  const schema = isRecord(value) ? value['schema'] : undefined
  if (typeof schema === 'string' && schema !== LOAD_SCHEMA) {
    throw bad(file, `has schema ${schema.slice(0, 40)} and not ${LOAD_SCHEMA}`)
  }
  if (schema === undefined || schemaCheck(SCHEMA)?.(value) !== true) {
    throw bad(file, 'is no result of squall load')
  }
  const result = value as LoadResult
  if (Number.isNaN(Date.parse(result.run.startedAt))) throw bad(file, 'has no valid start')
  return result
}

function bad(file: string, why: string): LoadError {
  return new LoadError('CANNOT_MERGE', `${file} ${why}`, 'give files that squall load --out wrote')
}
