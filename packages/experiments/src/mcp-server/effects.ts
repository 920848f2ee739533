import { durationText, fieldsOf, isRecord, plain, readDuration } from '#base'
import { FAULTS } from '#rules'
import { narrowedPercent } from '../experiment/armed-rules.ts'
import type { Plan, WrittenRule } from '../experiment/plan.ts'

/** Returns what a plan does to calls at its largest stage, in a sentence for each rule. */
export function effectsOf({ file, rules, stages, by }: Plan): readonly string[] {
  const share = Math.max(...stages.map((stage) => stage.share ?? 0))
  const where = by === 'pods' ? ` on ${share} % of the pods` : ''
  const other = (['kill', 'exhaust', 'dependency'] as const).flatMap((key) =>
    file[key] === undefined ? [] : [`${key}: ${JSON.stringify(file[key])}`],
  )
  const sentences = (rules?.rules ?? []).flatMap((rule) => {
    const percent = narrowedPercent(rule, by, share)
    const { name: _, match, faults, percent: __, probability: ___, ...more } = rule
    const also = Object.keys(more).length === 0 ? '' : ` (${JSON.stringify(more).slice(1, -1)})`
    return effects(faults).map(
      (effect) => `${subjectOf(match)} ${effect} in ${percent} % of calls${where}${also}`,
    )
  })
  return [...sentences, ...other].map(plain)
}

function subjectOf(match: WrittenRule['match']): string {
  const { tool, ...more } = fieldsOf(match)
  const tools = [tool]
    .flat()
    .map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  const also = Object.keys(more).length === 0 ? '' : ` with ${JSON.stringify(more)}`
  return `${tool === undefined ? 'every call' : tools.join(' or ')}${also}`
}

function effects(faults: unknown): readonly string[] {
  return (Array.isArray(faults) ? (faults as unknown[]) : []).flatMap((fault) =>
    typeof fault === 'string'
      ? [effectOf(fault, {})]
      : Object.entries(fieldsOf(fault)).map(([name, given]) => effectOf(name, fieldsOf(given))),
  )
}

/** Faults in words, by their first parameter. */
const WORDS: Readonly<Record<string, (value: unknown) => string>> = {
  'delay fixed': (time) => `waits ${String(time)}`,
  'delay uniform': (range) => `waits ${Object.values(fieldsOf(range)).join(' to ')}`,
  'throttle rate': (rate) => `transfers at most ${String(rate)} per second`,
  'abort status': (status) => `fails with HTTP ${String(status)}`,
  'abort toolError': (text) => `fails with the tool error ${JSON.stringify(text)}`,
  'hang ': () => 'never receives a response',
  'reset ': () => 'loses its connection',
}

function effectOf(name: string, given: Readonly<Record<string, unknown>>): string {
  const all = Object.entries(given).map(([key, value]) => [key, worded(value)] as const)
  const [[key, value] = ['', undefined], ...others] = all
  const known = WORDS[`${name} ${key}`]
  const shown = known === undefined ? all : others
  const texts = shown.map(
    ([each, of]) => `${each} ${typeof of === 'string' ? of : JSON.stringify(of)}`,
  )
  const more = shown.length === 0 ? '' : ` with ${texts.join(' and ')}`
  if (known !== undefined) return `${known(value)}${more}`
  const summary = FAULTS.find((fault) => fault.name === name)?.summary ?? 'changes the call'
  return `receives the fault ${name}${more} (${summary})`
}

/** Returns durations with their unit as words: `10 min` for `10m`. */
function worded(value: unknown): unknown {
  if (isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, worded(each)]))
  }
  const ms = typeof value === 'string' ? readDuration(value) : undefined
  if (ms === undefined) return value
  return durationText(ms).replace(/^([\d.]+)(\D+)$/, (_, count: string, unit: string) => {
    return `${count} ${unit === 'm' ? 'min' : unit}`
  })
}
