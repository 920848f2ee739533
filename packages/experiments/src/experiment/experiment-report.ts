import {
  asInvoked,
  duration,
  latency,
  makeDirectory,
  markdownText,
  quoted,
  shortDigest,
} from '#base'
import { agentTable, findingsTable, verdictTable } from '../report/agent-tables.ts'
import type { AlertResult, ExperimentResult, PhaseResult } from './experiment-result.ts'
import { type Measure, MEASURES, shownMeasure } from './gate.ts'
import type { Rejection } from './rejection.ts'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JUnitSuite } from '../report/junit.ts'
import { tableBlocks } from '../report/markdown.ts'
import type { ReportTable, TitledRun } from '../report/report-table.ts'
import { agentsOf, marginTable, phasesOf, phaseTable, timelineTable } from './experiment-tables.ts'
import { frontHtml } from './front-page.ts'
import { recoveryText, summaryOf } from './summary.ts'
import { writeReport } from '../report/write-report.ts'
import type { SavedPlan } from './read-plan.ts'

/** Describes the result of an experiment on one line. */
export function verdictLine({ verdict, stage, code, why }: ExperimentResult): string {
  const where = stage === null || verdict === 'passed' ? '' : ` at ${stage}`
  return `${verdict}${where}: ${why}${code === null ? '' : ` (${code})`}`
}

/** Describes a result in lines: the summary, the advice, and further facts. */
export function noteLines(result: ExperimentResult): readonly string[] {
  const { summary, advice } = { ...summaryOf(result), ...result }
  return [summary, `Next step: ${advice}`, ...factLines(result)]
}

/** Describes what the summary and the load results do not show. */
function factLines(result: ExperimentResult): readonly string[] {
  const { code, why, rollbackMs, steadyAfter, restored, proposals, alerts } = result
  const lines = [
    ...(code === null ? [] : [`Reason: ${why} (${code}).`]),
    recoveryText(result),
    ...alerts.map(alertText),
    ...phasesOf(result).flatMap(conditionTexts),
  ]
  if (rollbackMs !== null) lines.push(`The rules were rolled back within ${latency(rollbackMs)}.`)
  if (!restored) {
    lines.push(
      'The rules file was not restored: another program has changed it. The rules of the experiment expire.',
    )
  }
  if (steadyAfter !== null) {
    lines.push(`Steady state after the stages: ${steadyAfter ? 'passed' : 'failed'}.`)
  }
  for (const { why: reason, write } of proposals)
    lines.push(`To widen the plan: ${write} (${reason}).`)
  return lines
}

/** Describes the conditions of a phase besides the calls. */
function conditionTexts({ label, measured }: PhaseResult): readonly string[] {
  const calls: readonly string[] = MEASURES
  const extras = Object.entries(measured).filter(([measure]) => !calls.includes(measure))
  if (extras.length === 0) return []
  const texts = extras.map(
    ([name, value]) => `${name} ${shownMeasure(name as Measure, value ?? null)}`,
  )
  return [`Conditions of ${quoted(label)}: ${texts.join('; ')}.`]
}

function alertText(alert: AlertResult): string {
  const { name, monitor, mttdMs, mttrMs, withinMs, startsAt } = alert
  const subject = `Alert ${quoted(name)} (${monitor})`
  if (mttdMs === null) {
    return `${subject}: did not fire before the end; the limit is ${duration(withinMs)}.`
  }
  const end = mttrMs === null ? 'not resolved by the end' : `resolved after ${duration(mttrMs)}`
  const since = startsAt === null ? '' : `, active since ${startsAt} according to its own clock`
  return `${subject}: fired ${duration(mttdMs)} after the injection${since}; ${end}.`
}

/** Formats the report as Markdown. */
export function experimentMarkdown(result: ExperimentResult, next?: ReportTable): string {
  const { name, description, id, again, target, environment, startedAt } = result
  const { seed, planDigest, rulesDigest, server, squall } = result
  const blocks = [
    `# ${markdownText(name)}: ${result.verdict}`,
    ...(description === undefined ? [] : [markdownText(description)]),
    noteLines(result)
      .map((line) => `- ${markdownText(line)}`)
      .join('\n'),
    ...[...resultTables(result), ...(next === undefined ? [] : [next])].flatMap((table) =>
      tableBlocks(table, 2),
    ),
    [
      `- run ${id}${again === undefined ? '' : `, a repetition of ${markdownText(again)}`}, started ${startedAt}`,
      `- target ${markdownText(target)}, environment ${markdownText(environment)}`,
      `- server ${markdownText(server ?? 'unknown')}, Squall ${markdownText(squall)}`,
      `- seed ${seed}, plan ${shortDigest(planDigest)}, rules ${shortDigest(rulesDigest)}`,
      `- repeat exactly: \`${asInvoked('squall experiment again')} ${id}\``,
    ].join('\n'),
  ]
  return `${blocks.join('\n\n')}\n`
}

/** Returns the tables of a result: what happened, the phases, the margins, and the agents. */
export function resultTables(result: ExperimentResult): readonly ReportTable[] {
  const agents = agentsOf(result)
  return [
    phaseTable(result),
    marginTable(result),
    timelineTable(result),
    findingsTable(agents),
    verdictTable(agents),
    agentTable(agents),
  ]
}

/** Returns the rejection of an experiment as a test that could not run, with each reason. */
export function rejectedSuite(reasons: readonly Rejection[]): JUnitSuite {
  const error = reasons.map(({ code, wrong, fix }) => `${code}: ${wrong}; ${fix}`).join('\n')
  const cases = [{ name: 'the experiment is not rejected', seconds: 0, error }]
  return { name: 'squall experiment', startedAt: new Date().toISOString(), seconds: 0, cases }
}

/** Returns the phases of an experiment as tests, and its verdict. */
export function experimentSuite(result: ExperimentResult): JUnitSuite {
  const { name, startedAt, endedAt, verdict, restored } = result
  const took = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000
  const line = verdict === 'passed' ? undefined : verdictLine(result)
  const phases = phasesOf(result).map((phase) => ({
    name: phase.label,
    seconds: phase.durationMs / 1000,
    failure: phase.label === result.stage ? line : undefined,
  }))
  const files = {
    name: 'the rules are restored',
    seconds: 0,
    failure: restored ? undefined : 'another program has changed the rules file',
  }
  const end = { name: 'the experiment passes', seconds: 0, failure: line }
  const cases = [...phases, files, end]
  return { name: `squall experiment: ${name}`, startedAt, seconds: took, cases }
}

/** The tests to run after a run: a table, and the plans that it names. */
export interface NextTests {
  readonly table: ReportTable
  readonly plans: readonly { readonly name: string; readonly plan: string }[]
}

/** The directory of these plans beside the reports of the run. */
export const NEXT = 'next'

/** Writes the reports of a run to a new directory and returns its path. */
export async function writeReports(
  experiments: string,
  result: ExperimentResult,
  kept: SavedPlan,
  next?: NextTests,
): Promise<string> {
  const directory = join(experiments, result.id)
  await makeDirectory(directory)
  const runs = runsOf(result)
  const title = `${result.name}: ${result.verdict}`
  const files: [string, string][] = [
    ['report.json', `${JSON.stringify(result)}\n`],
    ['report.md', experimentMarkdown(result, next?.table)],
    ['plan.json', `${JSON.stringify(kept, null, 2)}\n`],
  ]
  if (runs.length > 0) {
    const about = {
      title,
      front: frontHtml({ ...summaryOf(result), ...result }, factLines(result), kept.text),
      tables: [...resultTables(result), ...(next === undefined ? [] : [next.table])],
    }
    files.push(['report.html', writeReport(runs, about)])
  }
  if (next !== undefined) {
    await makeDirectory(join(directory, NEXT))
    for (const { name, plan } of next.plans) files.push([join(NEXT, name), plan])
  }
  for (const [name, text] of files) await writeFile(join(directory, name), text)
  return directory
}

function runsOf({ before, stages, after }: ExperimentResult): readonly TitledRun[] {
  const phases = [
    { ...before, label: 'Before' },
    ...stages.map((stage) => ({ ...stage, label: `Stage ${stage.label}` })),
    ...(after === null ? [] : [{ ...after, label: 'After' }]),
  ]
  return phases.flatMap(({ label, load }) => {
    if (load === undefined) return []
    // A fault may get its verdict in the next phase, so those of all stages are shown together.
    const { agents: _, ...own } = load
    return [{ title: label, result: own }]
  })
}
