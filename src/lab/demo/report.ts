import { writeReport } from '../report/write-report.ts'
import type { Played } from './end-screen.ts'

/** The loads of the demo as a report. */
export function demoReport(played: readonly Played[]): string {
  const runs = played.flatMap(({ result }) => (result.run === undefined ? [] : [result.run]))
  const checks = played.flatMap(({ result }) => result.checks)
  const held = checks.filter(({ ok }) => ok).length
  return writeReport(
    runs.map(({ column, about, result }) => ({ title: titleOf(column), about, result })),
    {
      title: 'Squall demo',
      notes: [
        'Four loads of the same MCP server on one machine, with Squall in front of it. App, sidecar and clients share one thread: the latencies are those of all three.',
        `${held} of ${checks.length} checks held: what clients saw, what Squall counted and what the app did by its script was compared, call by call.`,
      ],
    },
  )
}

function titleOf(column: string): string {
  return `${column[0]!.toUpperCase()}${column.slice(1)}`
}
