import { VERDICT_NAMES } from '#sidecar'
import { counted, foreign, integerText, percentage, plainNumber } from '#base'
import { differences } from '../load/results/agent-result.ts'
import type { AgentResult, LoadResult } from '../load/results/result.ts'
import { type Cell, cell, type ReportTable, withoutEmpty } from './report-table.ts'

const MAX_ROWS = 50
const BAD: ReadonlySet<string> = new Set(['runaway', 'duplicate_execution', 'possible_duplicate'])

/** Tabulates the tasks that sidecars counted; empty without such sidecars. */
export function agentTable({ agents }: Pick<LoadResult, 'agents'>): ReportTable {
  const columns = [{ name: 'Figure' }, { name: 'Value' }]
  const title = 'Tasks of agents'
  if (agents === undefined) return { title, columns, rows: [] }
  const { tasks, problem } = agents
  const twice = duplicatesText(agents)
  const compared = comparedText(agents)
  const rows: [string, string][] = [
    ['Tasks', integerText(tasks.tasks)],
    ['Failed', integerText(tasks.failed)],
    ['Blast radius', percentage(perTask(agents, tasks.failed))],
    ['Recovered', integerText(tasks.recovered)],
    ['Calls per task (TCAF)', plainNumber(perTask(agents, tasks.calls))],
    ['Retries per task', plainNumber(perTask(agents, tasks.retries))],
    ['Wasted calls', integerText(tasks.wasted)],
    ['Changed results used', integerText(tasks.silent)],
    ['Verdicts', verdictsText(agents)],
    ['Executed twice', twice === '' ? '0' : twice],
    ['Maybe executed twice', integerText(agents.totals['possible_duplicate'] ?? 0)],
    ['False values used', falseUsesText(agents)],
    ...(compared === undefined ? [] : [['Own counts', compared] satisfies [string, string]]),
    ...(problem === undefined ? [] : [['Problem', problem] satisfies [string, string]]),
  ]
  const about = 'Counted by the sidecar, for all of its clients.'
  return {
    title,
    about,
    columns,
    rows: rows.map((row) => row.map((text) => cell(foreign(text, 600)))),
  }
}

/** Tabulates what agents did after each fault; empty without sidecars that know it. */
export function verdictTable({ agents }: Pick<LoadResult, 'agents'>): ReportTable {
  const { after = [], waiting = 0 } = agents ?? {}
  const rows = new Map<string, { tool: string; fault: string; counts: Record<string, number> }>()
  for (const { tool, fault, verdict, count } of after) {
    const key = JSON.stringify([tool, fault])
    const row = rows.get(key) ?? { tool, fault, counts: {} }
    rows.set(key, row)
    row.counts[verdict] = count
  }
  const open = waiting === 0 ? '' : ` ${integerText(waiting)} had no verdict at the end.`
  const more = rows.size > MAX_ROWS ? ` ${rows.size - MAX_ROWS} rarer rows are in the JSON.` : ''
  return withoutEmpty({
    title: 'What agents did next',
    about: `After each fault and each real error, as observed by the sidecar.${open}${more}`,
    columns: [
      { name: 'Fault' },
      { name: 'Tool' },
      ...VERDICT_NAMES.map((name) => ({ name: name.replaceAll('_', ' '), number: true })),
    ],
    rows: [...rows.values()].slice(0, MAX_ROWS).map(({ tool, fault, counts }) => [
      cell(foreign(fault, 40)),
      cell(foreign(tool)),
      ...VERDICT_NAMES.map((name): Cell => {
        const text = integerText(counts[name] ?? 0)
        return BAD.has(name) && text !== '0' ? { text, tone: 'bad' } : cell(text)
      }),
    ]),
  })
}

/** Tabulates what agents did in sentences, the most harmful first; empty without findings. */
export function findingsTable({ agents }: Pick<LoadResult, 'agents'>): ReportTable {
  const rows = (agents?.findings ?? []).map(({ severity, source, client, sentence, advice }) => {
    const who = source === 'load' ? 'squall load' : (client ?? '')
    return [
      {
        text: foreign(sentence, 1000),
        about: foreign(who),
        ...(severity === 'high' && { tone: 'bad' as const }),
      },
      cell(foreign(advice, 500)),
    ]
  })
  return {
    title: 'What agents did',
    about: 'During the load, as observed by the sidecar for all of its clients.',
    columns: [{ name: 'Finding' }, { name: 'Advice' }],
    rows,
  }
}

/** Returns a share of the tasks of agents; null without tasks. */
function perTask({ tasks }: AgentResult, count: number): number | null {
  return tasks.tasks === 0 ? null : count / tasks.tasks
}

/** Lists the verdicts, the most frequent first. */
function verdictsText({ totals, waiting }: AgentResult): string {
  const texts = Object.entries(totals)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([verdict, count]) => `${foreign(verdict, 40)} ${integerText(count)}`)
  if (waiting > 0) texts.push(`without a verdict ${integerText(waiting)}`)
  return texts.length === 0 ? 'none' : texts.join(', ')
}

/** Lists the tools whose calls were executed twice; empty without any. */
function duplicatesText({ duplicates }: AgentResult): string {
  return duplicates
    .slice(0, 10)
    .map(({ tool, idempotent, count }) => {
      const hint = idempotent ? 'idempotent' : 'not declared idempotent'
      return `${foreign(tool, 60)} ${integerText(count)} (${hint})`
    })
    .join(', ')
}

/** Lists the tools that were called with false values. */
function falseUsesText({ falseUses = [] }: AgentResult): string {
  const uses = falseUses.map(({ tool, hint, count }) => {
    return `${foreign(tool, 60)} ${integerText(count)} (${hint.replace('_', ' ')})`
  })
  return uses.length === 0 ? '0' : uses.slice(0, 10).join(', ')
}

/** Compares the requests of a load with the counts of the sidecars; undefined without both. */
function comparedText({ compared }: AgentResult): string | undefined {
  if (compared === undefined) return undefined
  const { load, sidecar } = compared
  const different = differences(compared)
  if (different.length === 0) {
    return `the sidecar counted the same ${counted(load.tasks, 'task')}, ${counted(load.calls, 'call')} and ${counted(load.retries, 'retry', 'retries')}`
  }
  const texts = different.map(
    (name) => `${name} ${integerText(load[name])} sent, ${integerText(sidecar[name])} counted`,
  )
  return `the sidecar has different counts: ${texts.join('; ')}`
}
