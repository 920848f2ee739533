import type { Agents, Tasks } from '#admin-api'
import { type AgentResult, SENT_NAMES, TASK_NAMES } from './result.ts'

/** The requests of a load by its own counts and by those of the sidecars. */
export type Compared = NonNullable<AgentResult['compared']>
export type SentCounts = Compared['load']

/** Returns the counts of sidecars between two times. */
export function agentsBetween(before: readonly Tasks[], after: readonly Tasks[]): AgentResult {
  const results = [...after.map(agentsOf), ...before.map(agentsOf).map(negated)]
  const { tasks, ...sums } = sumAgents(results)
  const [ok, recovered, failed] = [tasks.ok, tasks.recovered, tasks.failed].map((count) =>
    // A task that had failed before may recover.
    Math.max(0, count),
  )
  return { ...sums, tasks: { ...tasks, ok: ok!, recovered: recovered!, failed: failed! } }
}

/** Adds the counts of several runs; those that are compared are left out. */
export function sumAgents(results: readonly AgentResult[]): AgentResult {
  const tasks = noTasks()
  const totals: Record<string, number> = {}
  for (const result of results) {
    for (const name of TASK_NAMES) tasks[name] += result.tasks[name]
    for (const [verdict, count] of Object.entries(result.totals)) {
      totals[verdict] = (totals[verdict] ?? 0) + count
    }
  }
  const findings = mergedFindings(results.flatMap((each) => each.findings ?? []))
  const problem = results.find((each) => each.problem !== undefined)?.problem
  return {
    tasks,
    totals,
    waiting: results.reduce((sum, { waiting }) => sum + waiting, 0),
    after: summed(results.flatMap(({ after }) => after)),
    duplicates: summed(results.flatMap(({ duplicates }) => duplicates)),
    falsified: summed(results.flatMap(({ falsified = [] }) => falsified)),
    falseUses: summed(results.flatMap(({ falseUses = [] }) => falseUses)),
    ...(findings.length > 0 && { findings }),
    ...(problem !== undefined && { problem }),
  }
}

type Found = Agents['findings'][number]

const SEVERITIES: readonly Found['severity'][] = ['high', 'medium', 'low']
const MAX_FINDINGS = 20

/** Joins the findings of several sidecars or times about the same behaviour, the most harmful first. */
export function mergedFindings(findings: readonly Found[]): readonly Found[] {
  const byKey = new Map<string, Found>()
  for (const each of findings) {
    const { kind, source, client, taskKind, tool } = each
    const key = JSON.stringify([kind, source, client, taskKind, tool])
    const known = byKey.get(key)
    const [count, of] = [each.count + (known?.count ?? 0), each.of + (known?.of ?? 0)]
    const most = known === undefined || each.count > known.count ? each : known
    const sentence = `${most.sentence.replace(/ In all, .*$/, '')} In all, ${count} of ${of}.`
    byKey.set(key, known === undefined ? each : { ...most, count, of, sentence })
  }
  // Findings about a load come last, as in those of a sidecar.
  const rank = ({ severity, source }: Found): number =>
    SEVERITIES.indexOf(severity) + (source === 'load' ? SEVERITIES.length : 0)
  const all = [...byKey.values()].sort((a, b) => rank(a) - rank(b) || b.count - a.count)
  return all.slice(0, MAX_FINDINGS)
}

function noTasks(): Record<(typeof TASK_NAMES)[number], number> {
  return { tasks: 0, calls: 0, retries: 0, ok: 0, recovered: 0, failed: 0, wasted: 0, silent: 0 }
}

/** Names the counts in which a load and the sidecars differ. */
export function differences({ load, sidecar }: Compared): readonly (keyof SentCounts)[] {
  return SENT_NAMES.filter((name) => load[name] !== sidecar[name])
}

function agentsOf({
  open,
  ended,
  soFar,
  calls,
  retries,
  wasted,
  silent,
  ...rest
}: Tasks): AgentResult {
  const { totals, waiting, after, duplicates, falsified, falseUses } = rest
  const { ok, recovered, failed } = ended
  const tasks = {
    tasks: open + ok + recovered + failed,
    calls,
    retries,
    ok: ok + soFar.ok,
    recovered: recovered + soFar.recovered,
    failed: failed + soFar.failed,
    wasted,
    silent,
  }
  return { tasks, totals, waiting, after, duplicates, falsified, falseUses }
}

/** Returns counts to subtract. Faults without a verdict are not subtracted: they may get one. */
function negated({ tasks, totals, after, duplicates, ...lies }: AgentResult): AgentResult {
  const negative = ([name, count]: [string, number]): [string, number] => [name, -count]
  const minus = <Row extends { readonly count: number }>(rows: readonly Row[]): readonly Row[] =>
    rows.map((row) => ({ ...row, count: -row.count }))
  const counts = noTasks()
  for (const name of TASK_NAMES) counts[name] = -tasks[name]
  return {
    tasks: counts,
    totals: Object.fromEntries(Object.entries(totals).map(negative)),
    waiting: 0,
    after: minus(after),
    duplicates: minus(duplicates),
    falsified: minus(lies.falsified ?? []),
    falseUses: minus(lies.falseUses ?? []),
  }
}

/** Joins the rows that differ only in their counts, the most frequent first. */
function summed<Row extends { readonly count: number }>(rows: readonly Row[]): readonly Row[] {
  const sums = new Map<string, Row>()
  for (const row of rows) {
    const key = JSON.stringify({ ...row, count: 0 })
    const known = sums.get(key)
    sums.set(key, known === undefined ? row : { ...row, count: known.count + row.count })
  }
  return [...sums.values()].filter(({ count }) => count > 0).sort((a, b) => b.count - a.count)
}
