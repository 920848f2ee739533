import { VERDICT_NAMES } from '#sidecar'
import { foreign, integerText, percentage, plainNumber } from '#base'
import type { LoadResult } from '../load/results/result.ts'
import { comparedText, duplicatesText, falseUsesText, perTask, verdictsText } from './agent-text.ts'
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
