import type { LoadResult } from '../../load/results/result.ts'
import { integerText, latency } from '../../report/shown-numbers.ts'
import type { Screen } from '../screen.ts'
import type { AgentCounts } from './simulation.ts'

/** The figures of one agent; a simulation has no latencies. */
export interface Figures extends AgentCounts {
  readonly tcaf: number | null
  readonly tcsr: number | null
  readonly eta: number | null
  readonly blastRadius: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

export function figuresOf({ counts, indicators, latency: { summary } }: LoadResult): Figures {
  const { tasks, failedTasks, calls, success, retries } = counts
  const { tcaf, tcsr, eta, blastRadius } = indicators
  const shares = { tcaf, tcsr, eta, blastRadius, p50Ms: summary.p50, p99Ms: summary.p99 }
  return { tasks, failedTasks, calls, failedCalls: calls - success, retries, ...shares }
}

/** Returns the figures of a simulation, in which each failed call has no response. */
export function simulatedFigures(counts: AgentCounts): Figures {
  const { tasks, failedTasks, calls, failedCalls, retries } = counts
  const tcsr = 1 - failedCalls / calls
  const shares = { tcaf: calls / tasks, tcsr, eta: tcsr, blastRadius: failedTasks / tasks }
  const counted = { tasks, failedTasks, calls, failedCalls, retries }
  return { ...counted, ...shares, p50Ms: null, p99Ms: null }
}

export interface Row {
  readonly agent: string
  readonly name: string
  readonly figures: Figures
}

const NAME = 20

const COLUMNS: readonly {
  readonly name: string
  readonly width: number
  readonly shown: (figures: Figures) => string
}[] = [
  { name: 'calls', width: 6, shown: ({ failedCalls }) => integerText(failedCalls) },
  { name: 'tasks', width: 6, shown: ({ failedTasks }) => integerText(failedTasks) },
  { name: 'TCAF', width: 6, shown: ({ tcaf }) => decimals(tcaf, 1) },
  { name: 'TCSR', width: 6, shown: ({ tcsr }) => decimals(tcsr, 2) },
  { name: 'ETA', width: 6, shown: ({ eta }) => decimals(eta, 2) },
  { name: 'blast', width: 6, shown: ({ blastRadius }) => decimals(blastRadius, 2) },
  { name: 'retries', width: 8, shown: ({ retries }) => integerText(retries) },
  { name: 'p50', width: 8, shown: ({ p50Ms }) => latency(p50Ms) },
  { name: 'p99', width: 8, shown: ({ p99Ms }) => latency(p99Ms) },
]

/** Formats a figure with as many decimals as mcp-chaos prints. */
function decimals(value: number | null, digits: number): string {
  return value === null ? '-' : value.toFixed(digits)
}

/** Shows the table of mcp-chaos: a group for each agent, and a line for each run. */
export function showTable(screen: Screen, rows: readonly Row[]): void {
  const names = COLUMNS.map(({ name, width }) => name.padStart(width)).join('')
  screen.line(screen.paint('strong', `${'failed:'.padStart(NAME)}${names}`))
  let agent: string | undefined
  for (const row of rows) {
    if (row.agent !== agent) screen.line(screen.paint('strong', ` ${row.agent}`))
    agent = row.agent
    const cells = COLUMNS.map(({ width, shown }) => shown(row.figures).padStart(width)).join('')
    screen.line(`${`   ${row.name}`.padEnd(NAME)}${cells}`)
  }
}
