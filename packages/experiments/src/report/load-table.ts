import {
  counted,
  foreign,
  gateValue,
  integerText,
  latency,
  oneLine,
  paint as painted,
  type Tone,
} from '#base'
import { comparedText, duplicatesText, tasksText, verdictsText } from './agent-text.ts'
import { failedFirst, errorWords, leftOutWords, toolErrors } from './run-tables.ts'
import type { LoadResult } from '../load/results/result.ts'
import { toolEndings } from './endings.ts'
import { rateText } from './report-table.ts'
import { INDICATOR_ROWS, indicatorParts, shownIndicator } from './indicator-rows.ts'
import { beyondText, marginText } from './margin-text.ts'

type Paint = (tone: Tone, text: string) => string

const MAX_TOOLS = 30
const MAX_FAULTS = 20
const MAX_ERRORS = 10
const NAME = 26

/** The result of a load for people, in 80 columns; in colour where the output shows colours. */
export function loadTable(result: LoadResult, output: NodeJS.WriteStream | false): string {
  const paint: Paint = (tone, text) => painted(tone, text, output)
  const lines = [
    ...headLines(result, paint),
    '',
    ...indicatorLines(result),
    '',
    ...toolLines(result, paint),
    ...faultLines(result, paint),
    ...errorLines(result, paint),
    ...agentLines(result, paint),
    ...sloLines(result, paint),
  ]
  return `${lines.join('\n')}\n`
}

function headLines(result: LoadResult, paint: Paint): string[] {
  const { run, counts, arrivals, held, tools, latency: all } = result
  const seconds = run.durationMs / 1000
  const { p50, p90, p99, max } = all.summary
  const lines = [
    paint('strong', `${oneLine(run.server, 40)} at ${oneLine(run.target, 60)}`),
    `${run.model} model, client ${run.client}, protocol ${run.protocolVersion}, seed ${run.seed}`,
    `${counted(counts.calls, 'call')} in ${seconds.toFixed(1)} s (${rateText(result)}/s), ${counted(counts.tasks, 'task')}, ${counted(counts.retries, 'retry', 'retries')}`,
    `latency p50 ${latency(p50)}, p90 ${latency(p90)}, p99 ${latency(p99)}, max ${latency(max)}`,
  ]
  if ((run.missedFaults ?? 0) > 0) {
    lines.push(
      `${integerText(run.missedFaults!)} faults left the history of the sidecar before they were read`,
    )
  }
  if (run.leftOut !== undefined) {
    lines.push(oneLine(`not called without --tools: ${leftOutWords(run.leftOut)}`, 80))
  }
  if (!run.complete) lines.push(paint('bad', 'ended early: the results are incomplete'))
  const { dropped, late, abandoned, skipped, hung, missed = 0 } = arrivals
  if (dropped + late + skipped > 0) {
    lines.push(
      `arrivals: ${integerText(dropped)} dropped, ${integerText(late)} late, ${integerText(skipped)} skipped`,
    )
  }
  if (abandoned > 0) {
    const by = tools.filter((tool) => tool.abandoned !== undefined)
    const names = by.map((tool) => `${tool.tool} ${integerText(tool.abandoned!)}`).join(', ')
    const where = hung === undefined ? 'nowhere else' : 'by gates only'
    const cut = `cut at the end, and counted ${where}: ${integerText(abandoned)} (${names})`
    lines.push(paint('bad', oneLine(cut, 80)))
  }
  if (missed > 0) {
    const count = counted(missed, 'call')
    lines.push(paint('bad', `not sent while the server hung, and counted by gates only: ${count}`))
  }
  if (held.asked > 0) {
    lines.push(`streams held: ${held.opened} of ${held.asked}, lost ${held.lost}`)
  }
  return lines
}

function indicatorLines(result: LoadResult): string[] {
  return INDICATOR_ROWS.map((row) => {
    const value = shownIndicator(row, result).padStart(8)
    return `${row.name.padEnd(34)}${value}  ${indicatorParts(row, result)}`.trimEnd()
  })
}

function toolLines({ tools }: LoadResult, paint: Paint): string[] {
  const head = `${'Tool'.padEnd(NAME)}${['calls', 'ok', 'injected', 'real', 'other', 'p99'].map(cell).join('')}`
  const rows = tools.slice(0, MAX_TOOLS).map((tool) => {
    const { injected, real, unattributed, squall, client } = toolEndings(tool)
    const other = unattributed + squall + client
    const counts = [tool.calls, tool.ok, injected, real, other].map(integerText)
    const cells = [...counts, latency(tool.latency.summary.p99)].map(cell).join('')
    return `${oneLine(tool.tool, NAME - 1).padEnd(NAME)}${cells}`
  })
  const more = tools.length > MAX_TOOLS ? [`… and ${tools.length - MAX_TOOLS} more`] : []
  return [paint('strong', head), ...rows, ...more]
}

function faultLines({ faults }: LoadResult, paint: Paint): string[] {
  if (faults.length === 0) return []
  const head = `${'Fault seen'.padEnd(NAME + 8)}${['responses', 'errors', 'wrong'].map(cell).join('')}`
  const rows = faults.slice(0, MAX_FAULTS).map(({ rule, fault, seen, errors, wrong }) => {
    const cells = [seen, errors, wrong].map(integerText).map(cell).join('')
    return `${oneLine(`${rule}/${fault}`, NAME + 7).padEnd(NAME + 8)}${cells}`
  })
  return ['', paint('strong', head), ...rows]
}

/** Lists the errors of each tool, with the newest message below. */
function errorLines(result: LoadResult, paint: Paint): string[] {
  const errors = toolErrors(result)
  if (errors.length === 0) return []
  const columns = (error: string, origin: string, calls: string, last: string): string =>
    `${error.padEnd(NAME + 20)}${origin.padEnd(13)}${cell(calls)}  ${last}`
  const rows = errors.slice(0, MAX_ERRORS).flatMap((error) => {
    const [newest] = error.samples ?? []
    const name = oneLine(`${error.tool}: ${errorWords(error)}`, NAME + 19)
    const message = oneLine(newest?.message ?? '', 76)
    return [
      columns(name, oneLine(error.origin, 12), integerText(error.count), timeOf(newest?.at)),
      ...(message === '' ? [] : [`  ${message}`]),
      ...(newest?.trace === undefined ? [] : [`  trace ${oneLine(newest.trace, 32)}`]),
    ]
  })
  const more =
    errors.length > MAX_ERRORS ? [`… and ${errors.length - MAX_ERRORS} more kinds of errors`] : []
  return ['', paint('strong', columns('Error', 'origin', 'calls', 'last (UTC)')), ...rows, ...more]
}

/** Describes what sidecars counted about agents. */
function agentLines({ agents }: LoadResult, paint: Paint): string[] {
  if (agents === undefined) return []
  const { problem } = agents
  const twice = duplicatesText(agents)
  const compared = comparedText(agents)
  const lines = [
    tasksText(agents),
    `verdicts: ${verdictsText(agents)}`,
    ...(twice === '' ? [] : [paint('bad', `executed twice: ${twice}`)]),
    ...(compared === undefined ? [] : [`own counts: ${compared}`]),
    ...(problem === undefined ? [] : [paint('bad', foreign(problem, 300))]),
  ]
  return ['', paint('strong', 'Agents, by the sidecar'), ...lines.map((line) => `  ${line}`)]
}

function timeOf(iso = ''): string {
  return Number.isNaN(Date.parse(iso)) ? '-' : new Date(iso).toISOString().slice(11, 19)
}

function sloLines({ slo }: LoadResult, paint: Paint): string[] {
  if (slo.length === 0) return []
  const rows = failedFirst(slo).flatMap((each) => {
    const { gate, measured, ok } = each
    const verdict = ok ? paint('good', 'passed') : paint('bad', 'failed')
    const beyond = beyondText(each)
    const head = `${verdict} ${gate.padEnd(20)} ${gateValue(gate, measured).padEnd(10)} ${marginText(each)}`
    return [head.trimEnd(), ...(beyond === '' ? [] : [`       ${beyond}`])]
  })
  return ['', ...rows]
}

function cell(text: string): string {
  return text.padStart(9)
}
