import { counted, integerText, latency, oneLine, paint } from '#base'
import { agentTable } from './agent-tables.ts'
import { indicatorTable, rateText, type ReportTable } from './report-table.ts'
import {
  arrivalTable,
  faultTable,
  gateTable,
  leftOutWords,
  toolErrorTable,
  toolTable,
} from './run-tables.ts'
import type { LoadResult } from '../load/results/result.ts'
import { textTable, withoutAbout } from './text-table.ts'

const FAULT_COLUMNS = ['Rule', 'Fault', 'Responses', 'Errors', 'Wrong']
const TOOL_ENDS = ['Injected', 'Real', 'Unattributed', 'Squall’s own', 'Not sent']

/** The result of a load for people, by tables of the report; in colour where the output shows colours. */
export function loadTable(result: LoadResult, output: NodeJS.WriteStream | false): string {
  const { abandoned, dropped, late, missed = 0, skipped } = result.arrivals
  const isNotable = dropped + late + skipped + abandoned + missed + result.held.asked > 0
  const texts = [
    headText(result, output),
    textTable(withoutAbout(indicatorTable([{ title: '', result }])), {
      names: ['Indicator', 'Value'],
      output,
    }),
    textTable(toolTable(result), {
      names: ['Tool', 'Calls', 'OK', ...TOOL_ENDS, 'p99'],
      most: 30,
      output,
    }),
    textTable(faultTable(result), { names: FAULT_COLUMNS, most: 20, output }),
    textTable(toolErrorTable(result), { below: 'Message', most: 10, output }),
    isNotable ? textTable(arrivalTable(result), { output }) : '',
    textTable(withoutZeros(agentTable(result)), { output }),
    textTable(gateTable(result), { below: 'Beyond the limit', output }),
  ]
  return texts.filter((text) => text !== '').join('\n')
}

function withoutZeros({ rows, ...table }: ReportTable): ReportTable {
  return { ...table, rows: rows.filter(([, value]) => !/^0(?: %)?$/.test(value!.text)) }
}

function headText(result: LoadResult, output: NodeJS.WriteStream | false): string {
  const { run, counts, latency: all } = result
  const { missedFaults = 0, leftOut } = run
  const seconds = run.durationMs / 1000
  const { p50, p90, p99, max } = all.summary
  const lines = [
    paint('strong', `${oneLine(run.server, 40)} at ${oneLine(run.target, 60)}`, output),
    `${run.model} model, client ${run.client}, protocol ${run.protocolVersion}, seed ${run.seed}`,
    `${counted(counts.calls, 'call')} in ${seconds.toFixed(1)} s (${rateText(result)}/s), ${counted(counts.tasks, 'task')}, ${counted(counts.retries, 'retry', 'retries')}`,
    `latency p50 ${latency(p50)}, p90 ${latency(p90)}, p99 ${latency(p99)}, max ${latency(max)}`,
  ]
  if (missedFaults > 0) {
    lines.push(
      `${integerText(missedFaults)} faults left the history of the sidecar before they were read`,
    )
  }
  if (leftOut !== undefined) {
    lines.push(oneLine(`not called without --tools: ${leftOutWords(leftOut)}`, 80))
  }
  if (!run.complete) lines.push(paint('bad', 'ended early: the results are incomplete', output))
  return `${lines.join('\n')}\n`
}
