import { type Extra, type Gate, gatesOf, lastingText, PROCESS_MEASURES } from '../gate.ts'
import type { PlanFile } from '../plan-schema.ts'
import type { WrittenHealth, WrittenQuery } from './condition-schema.ts'
import type { SamplerSpec } from './samplers.ts'

/** A sampled condition, and the gates on its value. */
export interface Condition {
  readonly spec: SamplerSpec
  readonly gates: readonly Gate[]
}

const SINGLE = ['uptime', 'cpu', 'memory', ...PROCESS_MEASURES] as const

/** Returns the sampled conditions of a section: `abortOn`, or another one without times. */
export function conditionsOf(written: NonNullable<PlanFile['abortOn']>): readonly Condition[] {
  const single = gatesOf(SINGLE, written).map((gate): Condition => {
    const { measure } = gate
    return { spec: { kind: measure, measure }, gates: [gate] }
  })
  return [
    ...single,
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
  const gate: Gate = { measure, text: measure + lastingText(forMs), operator: '<', limit: 1, forMs }
  return { spec: { kind: 'health', measure, health }, gates: [gate] }
}

function queryCondition(promql: WrittenQuery): Condition {
  const { url, query, max, min, for: forMs = 0 } = promql
  const { host, pathname } = new URL(url)
  const measure: Extra = `promql ${host}${pathname.replace(/\/+$/, '')}: ${query}`
  const gate = (operator: Gate['operator'], limit: number): Gate => {
    const text = `${measure} ${operator}${limit}${lastingText(forMs)}`
    return { measure, text, operator, limit, forMs }
  }
  const gates = [
    ...(max === undefined ? [] : [gate('>', max)]),
    ...(min === undefined ? [] : [gate('<', min)]),
  ]
  return { spec: { kind: 'promql', measure, promql }, gates }
}
