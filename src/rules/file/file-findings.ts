import { type Fields, isRecord } from '../../base/values.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { parameterProblems } from '../../filters/lib/exclusive.ts'
import { FAULTS } from '../../filters/index.ts'
import type { ParameterProblem } from '../../filters/fault.ts'
import { branches, matchFindings } from './match-findings.ts'
import { conflict, type Finding, type Path, type ProblemCode } from './problem.ts'
import { fieldOf, readValues } from './read-values.ts'
import { jsonType, type SchemaNode } from './schema-node.ts'
import { highestBurstRate } from '../select/burst.ts'

/**
 * Returns the errors that a schema cannot express. The file may be invalid: one error must not hide
 * others. Faults with schema violations are skipped, because their checks need valid parameters.
 */
export function fileFindings(
  file: unknown,
  wrong: readonly Finding[],
  root: SchemaNode,
  limit: number,
): readonly Finding[] {
  const rules = fieldOf(file, 'rules')
  if (!Array.isArray(rules)) return []
  const isWrong = pathTest(wrong)
  const findings: Finding[] = []
  const names = new Map<string, number>()
  const schema = root.definitions?.['rule'] ?? {}
  for (const [index, rule] of rules.entries()) {
    if (findings.length >= limit) break
    if (jsonType(rule) !== 'object') continue
    const path: Path = ['rules', index]
    const { name, match, faults, ...selection } = rule as Fields
    findings.push(...nameFindings(name, index, names))
    if (jsonType(match) === 'object') {
      findings.push(...matchFindings(match as Fields, [...path, 'match']))
    }
    findings.push(...outboundFindings(rule as Fields, path))
    const read = readValues(schema, selection, root.definitions) as Fields
    findings.push(...selectionFindings(read, path))
    if (Array.isArray(faults)) findings.push(...faultFindings(faults, path, isWrong))
  }
  return findings
}

/** Returns true for an error at or below a path. */
function pathTest(wrong: readonly Finding[]): (path: Path) => boolean {
  const places = new Set<string>()
  for (const { path } of wrong) {
    for (let length = 1; length <= path.length; length++) {
      places.add(JSON.stringify(path.slice(0, length)))
    }
  }
  return (path) => places.has(JSON.stringify(path))
}

function nameFindings(
  name: unknown,
  index: number,
  names: Map<string, number>,
): readonly Finding[] {
  if (typeof name !== 'string') return []
  const before = names.get(name)
  if (before === undefined) {
    names.set(name, index)
    return []
  }
  return [
    {
      code: 'duplicate_name',
      message: `duplicate name ${quoted(name)} (first in rules[${before}])`,
      path: ['rules', index, 'name'],
      found: name,
    },
  ]
}

function faultFindings(
  faults: readonly unknown[],
  path: Path,
  isWrong: (path: Path) => boolean,
): readonly Finding[] {
  const findings: Finding[] = []
  for (const [index, item] of faults.entries()) {
    const at: Path = [...path, 'faults', index]
    if (jsonType(item) !== 'object' || isWrong(at)) continue
    for (const [name, config] of Object.entries(item as Fields)) {
      for (const { path: steps, message } of faultProblems(name, config)) {
        findings.push(conflict([...at, name, ...steps], message))
      }
    }
  }
  return findings
}

/** Returns what is wrong between the parameters of a fault; nothing for an unknown one. */
export function faultProblems(
  name: string | undefined,
  config: unknown,
): readonly ParameterProblem[] {
  const definition = FAULTS.find((fault) => fault.name === name)
  if (definition === undefined) return []
  const read = readValues(definition.schema as SchemaNode, config, undefined)
  return parameterProblems(definition, read)
}

/** Returns the faults of a rule, read and by name. */
export function faultUses(faults: readonly unknown[]): readonly unknown[] {
  return faults.map((item) => {
    const [name, config] =
      typeof item === 'string' ? [item, {}] : (Object.entries(item as Fields)[0] ?? ['', {}])
    const schema = FAULTS.find((fault) => fault.name === name)?.schema as SchemaNode | undefined
    return {
      fault: name,
      config: schema === undefined ? config : readValues(schema, config, undefined),
    }
  })
}

/** Returns the contradictions in a rule's selection. Valid values are read already. */
function selectionFindings(rule: Fields, path: Path): readonly Finding[] {
  const findings: Finding[] = []
  const has = (key: string): boolean => rule[key] !== undefined
  const say = (key: string, message: string, code: ProblemCode = 'conflict'): void => {
    findings.push({ code, message, path: [...path, key], atKey: true })
  }
  if (has('percent') && has('probability')) {
    say('probability', '`percent` and `probability` are mutually exclusive')
  }
  if (has('ramp') && has('stages')) say('stages', '`ramp` and `stages` are mutually exclusive')
  for (const key of ['percent', 'probability']) {
    if (has(key) && has('stages')) say(key, `\`stages\` sets the share; remove \`${key}\``)
  }
  if (has('stages') && !has('each')) say('stages', '`stages` requires `each`, such as `each: 5m`')
  if (has('each') && !has('stages')) say('each', '`each` requires `stages`')
  const { from, until, ramp, burst, episode, stickyBy, repeat } = rule
  if (has('repeat') && !has('for')) say('repeat', '`repeat` requires `for`, such as `for: 30s`')
  if (typeof repeat === 'number' && typeof rule['for'] === 'number' && repeat <= rule['for']) {
    say('repeat', '`repeat` must be longer than `for`; otherwise the rule never pauses')
  }
  if (has('episode') && (stickyBy === undefined || stickyBy === 'ordinal')) {
    say(
      'episode',
      '`episode` counts tasks; set a `stickyBy` key that identifies a task, such as `stickyBy: trace`',
    )
  }
  if (has('episode') && has('burst')) say('episode', '`burst` and `episode` are mutually exclusive')
  if (isRecord(episode) && Number(episode['tasks']) >= Number(episode['of'])) {
    const message = '`tasks` must be less than `of`; otherwise every task gets the fault'
    findings.push(conflict([...path, 'episode', 'tasks'], message))
  }
  if (typeof from === 'number' && typeof until === 'number' && from >= until) {
    say('until', '`until` must be after `from`')
  }
  for (const key of ['for', 'each']) {
    if (rule[key] === 0) say(key, `\`${key}\` must be above zero`, 'out_of_range')
  }
  if (isRecord(ramp) && ramp['over'] === 0) {
    findings.push({
      code: 'out_of_range',
      message: '`over` must be above zero',
      path: [...path, 'ramp', 'over'],
    })
  }
  if (isRecord(burst)) findings.push(...burstFindings(rule, burst, path))
  return findings
}

function burstFindings(rule: Fields, burst: Fields, path: Path): readonly Finding[] {
  const why = '`burst` decides which calls fail in a row; it cannot be combined with'
  const findings = ['first', 'every']
    .filter((key) => rule[key] !== undefined)
    .map((key) => conflict([...path, key], `${why} \`${key}\``))
  const { rate, length } = burst
  if (typeof rate !== 'number' || typeof length !== 'number' || length < 1) return findings
  const highest = highestBurstRate(length)
  if (rate < 1 && rate > highest) {
    findings.push({
      code: 'out_of_range',
      message: `for bursts of mean length ${length}, the rate must be at most ${floored(highest)}`,
      path: [...path, 'burst', 'rate'],
      hint: 'use longer bursts, or a lower rate',
    })
  }
  return findings
}

function floored(rate: number): number {
  return Math.floor(rate * 1000) / 1000
}

const OF_POD = ['outbound', 'workload', 'podLabels']
const OF_CONNECTIONS = ['sni', 'cidr']

/** Returns the contradictions between the fault `connection` and the rest of its rule. */
function outboundFindings(rule: Fields, path: Path): readonly Finding[] {
  const { match } = rule
  const faults = Array.isArray(rule['faults']) ? (rule['faults'] as readonly unknown[]) : []
  const at = faults.findIndex((fault) => isConnection(fault))
  if (at === -1) return isRecord(match) ? callFindings(match, [...path, 'match']) : []
  const findings: Finding[] = []
  if (faults.length > 1) {
    const hint = 'write a separate rule for each'
    const message = '`connection` must be the only fault of its rule'
    findings.push(conflict([...path, 'faults'], message, { hint }))
  }
  if (!isRecord(match) || match['outbound'] === undefined) {
    const hint = 'add `match: { outbound: { host: db, port: 5432 } }`'
    const message = '`connection` requires `match.outbound`'
    findings.push(conflict([...path, 'faults', at], message, { hint }))
  }
  for (const key of isRecord(match) ? Object.keys(match) : []) {
    if (OF_POD.includes(key)) continue
    const message = `\`${key}\` cannot match the connections that \`connection\` acts on`
    findings.push(conflict([...path, 'match', key], message, { hint: 'remove it' }))
  }
  return findings
}

function isConnection(fault: unknown): boolean {
  return fault === 'connection' || (isRecord(fault) && Object.hasOwn(fault, 'connection'))
}

/** Finds conditions on connections in a rule about calls. */
function callFindings(match: Fields, path: Path): readonly Finding[] {
  const { outbound } = match
  const found = isRecord(outbound) ? OF_CONNECTIONS.filter((key) => key in outbound) : []
  return [
    ...found.map((key) => {
      const hint = 'use the fault `connection`, or `host` and `port`'
      const message = `\`${key}\` matches connections, but this rule matches calls`
      return conflict([...path, 'outbound', key], message, { hint })
    }),
    ...branches(match).flatMap(([inner, step]) => callFindings(inner, [...path, ...step])),
  ]
}
