import { durationText } from '#base'
import { type Extra, type Gate, gateOf, PROCESS_MEASURES } from '../gate.ts'
import type { WrittenConditions, WrittenHealth, WrittenQuery } from './condition-schema.ts'
import type { SamplerSpec } from './samplers.ts'

/** A sampled condition, and the gates on its value. */
export interface Condition {
  readonly spec: SamplerSpec
  readonly gates: readonly Gate[]
}

const SHARES = ['uptime', 'cpu', 'memory'] as const

/** Returns the sampled conditions of a section. */
export function conditionsOf(written: WrittenConditions): readonly Condition[] {
  const shares = SHARES.flatMap((measure): Condition[] => {
    const limit = written[measure]
    if (limit === undefined) return []
    const gate =
      typeof limit === 'number' ? gateOf(measure, limit) : gateOf(measure, limit.limit, limit.for)
    return [{ spec: { kind: measure, measure }, gates: [gate] }]
  })
  const processes = PROCESS_MEASURES.flatMap((measure): Condition[] => {
    const limit = written[measure]
    if (limit === undefined) return []
    return [{ spec: { kind: measure, measure }, gates: [gateOf(measure, limit)] }]
  })
  return [
    ...shares,
    ...processes,
    ...[written.health ?? []].flat().map(healthCondition),
    ...[written.promql ?? []].flat().map(queryCondition),
  ]
}

function healthCondition(health: WrittenHealth): Condition {
  const { url, status, body, for: forMs = 0 } = health
  const more = [
    ...(status === 200 ? [] : [`status ${status}`]),
    ...(body === undefined ? [] : [`body ${JSON.stringify(body)}`]),
  ]
  const measure: Extra = `health ${[url, ...more].join(' ')}`
  const gate: Gate = { measure, text: measure + lasting(forMs), operator: '<', limit: 1, forMs }
  return { spec: { kind: 'health', measure, health }, gates: [gate] }
}

function queryCondition(promql: WrittenQuery): Condition {
  const { url, query, max, min, for: forMs = 0 } = promql
  const { host, pathname } = new URL(url)
  const measure: Extra = `promql ${host}${pathname.replace(/\/+$/, '')}: ${query}`
  const gate = (operator: Gate['operator'], limit: number): Gate => {
    return {
      measure,
      text: `${measure} ${operator}${limit}${lasting(forMs)}`,
      operator,
      limit,
      forMs,
    }
  }
  const gates = [
    ...(max === undefined ? [] : [gate('>', max)]),
    ...(min === undefined ? [] : [gate('<', min)]),
  ]
  return { spec: { kind: 'promql', measure, promql }, gates }
}

function lasting(forMs: number): string {
  return forMs === 0 ? '' : ` for ${durationText(forMs)}`
}
