import { integerText, latency, percentage } from '#base'
import { textTable } from '../report/text-table.ts'
import type { Predicted } from './interval.ts'
import type { Quantity, Simulation } from './simulate.ts'

const added = (ms: number): string => (ms < 0 ? `-${latency(-ms)}` : `+${latency(ms)}`)

const ROWS: Readonly<Record<Quantity, readonly [name: string, show: (value: number) => string]>> = {
  tasks: ['tasks', integerText],
  calls: ['calls', integerText],
  injected: ['calls and retries injected', integerText],
  touched: ['tasks affected', percentage],
  failed: ['tasks failed', percentage],
  success: ['task success', percentage],
  retries: ['retries', integerText],
  p50: ['task p50', latency],
  p99: ['task p99', latency],
  addedP50: ['added to p50', added],
  addedP99: ['added to p99', added],
}

const COLUMNS = [
  { name: '' },
  { name: 'predicted', number: true },
  { name: '95 % from', number: true },
  { name: 'to', number: true },
]

/** Formats a simulation for a terminal. */
export function simulationText(simulation: Simulation): string {
  const { plan, pods, rounds, podsPerRound, simulatedTasks, sources, stages, leftOut } = simulation
  const sample = podsPerRound < pods ? ` of ${podsPerRound} pods each` : ''
  return [
    `${plan}: prediction for ${integerText(pods)} pods, each with the load of the plan\n`,
    ...stages.map(stageTable),
    `From ${rounds} rounds${sample}, ${integerText(simulatedTasks)} tasks; measured in`,
    ...sources.map(({ source, startedAt, calls, retries }) => {
      const waits = retries > 0 ? `, whose latencies include ${integerText(retries)} retries` : ''
      return `  ${source}: ${integerText(calls)} calls from ${startedAt}${waits}`
    }),
    'Not modelled:',
    ...leftOut.map((each) => `  ${each}`),
    '',
  ].join('\n')
}

function stageTable({ label, predicted }: Simulation['stages'][number]): string {
  const cell = (text: string): { readonly text: string } => ({ text })
  const rows = Object.entries(ROWS).map(([quantity, [name, show]]) => {
    const found: Predicted | null = predicted[quantity as Quantity]
    const texts = found === null ? ['-', '-', '-'] : [found.value, found.low, found.high].map(show)
    return [name, ...texts].map(cell)
  })
  return textTable({ title: `Stage ${label}`, columns: COLUMNS, rows })
}
