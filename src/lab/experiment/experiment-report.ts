import { markdownText } from '../report/foreign-text.ts'
import type { ExperimentResult, PhaseResult, StageResult } from './experiment-result.ts'
import { shownMeasure } from './gate.ts'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TitledRun } from '../report/report-table.ts'
import { writeReport } from '../report/write-report.ts'
import type { KeptPlan } from './read-plan.ts'

/** Describes the result of an experiment on one line. */
export function verdictLine({ verdict, stage, code, why }: ExperimentResult): string {
  const where = stage === null || verdict === 'held' ? '' : ` at ${stage}`
  return `${verdict}${where}: ${why}${code === null ? '' : ` (${code})`}`
}

/** Describes the facts about the experiment that the load results lack, one sentence each. */
export function noteLines(result: ExperimentResult): readonly string[] {
  const { mttdMs, rollbackMs, steadyAfter, restored, proposals } = result
  const lines = [
    `Verdict: ${verdictLine(result)}.`,
    mttdMs === null
      ? 'Nothing was seen to leave the steady state.'
      : `First seen ${seconds(mttdMs)} after the injection (MTTD); ${againWords(result)}.`,
  ]
  if (rollbackMs !== null) lines.push(`Rolled back ${rollbackMs} ms after the breach was seen.`)
  if (!restored) {
    lines.push(
      'The rules file was not put back: somebody else has written it meanwhile. The rules of the experiment end by themselves.',
    )
  }
  if (steadyAfter !== null) {
    lines.push(`After it the steady state ${steadyAfter ? 'holds' : 'does not hold'}.`)
  }
  for (const { why, write } of proposals) lines.push(`Widen next: ${write} (${why}).`)
  return lines
}

function againWords({ mttrMs, steadyAfter }: ExperimentResult): string {
  if (mttrMs !== null) return `steady again ${seconds(mttrMs)} after it (MTTR)`
  return steadyAfter === null
    ? 'whether it is steady again was not measured'
    : 'it was not steady again in time'
}

/** Formats the report as Markdown. */
export function experimentMarkdown(result: ExperimentResult): string {
  const { name, description, id, again, target, environment, startedAt } = result
  const { seed, planDigest, rulesDigest, before, stages, after } = result
  const phases = [before, ...stages, ...(after === null ? [] : [after])]
  const blocks = [
    `# ${markdownText(name)}: ${result.verdict}`,
    ...(description === undefined ? [] : [markdownText(description)]),
    noteLines(result)
      .map((line) => `- ${markdownText(line)}`)
      .join('\n'),
    [
      '| | calls | success | errors | p95 | sampled | injected |',
      '| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
      ...phases.map(row),
    ].join('\n'),
    [
      `- run ${id}${again === undefined ? '' : `, which repeats ${markdownText(again)}`}, begun ${startedAt}`,
      `- target ${markdownText(target)}, environment ${markdownText(environment)}`,
      `- seed ${seed}, plan ${planDigest.slice(0, 12)}, rules ${rulesDigest?.slice(0, 12) ?? 'none'}`,
      `- run it again exactly: \`squall experiment run --again ${id}\``,
    ].join('\n'),
  ]
  return `${blocks.join('\n\n')}\n`
}

function row(phase: PhaseResult | StageResult): string {
  const { label, load } = phase
  const counts = 'sampled' in phase ? [String(phase.sampled), String(phase.applied)] : ['', '']
  const indicators = load?.indicators
  const failed = indicators?.etaResponded
  const cells = [
    markdownText(label),
    String(load?.counts.calls ?? 0),
    shownMeasure('success', indicators?.tcsr ?? null),
    shownMeasure('errors', failed === undefined || failed === null ? null : 1 - failed),
    shownMeasure('p95', load?.latency.summary.p95 ?? null),
    ...counts,
  ]
  return `| ${cells.join(' | ')} |`
}

/** Formats a duration. */
export function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`
}

/** Writes the reports of a run to a new directory and returns its path. */
export async function writeReports(
  experiments: string,
  result: ExperimentResult,
  kept: KeptPlan,
): Promise<string> {
  const directory = join(experiments, result.id)
  await mkdir(directory, { recursive: true })
  const runs = runsOf(result)
  const title = `${result.name}: ${result.verdict}`
  const files: [string, string][] = [
    ['report.json', `${JSON.stringify(result)}\n`],
    ['report.md', experimentMarkdown(result)],
    ['plan.json', `${JSON.stringify(kept, null, 2)}\n`],
  ]
  if (runs.length > 0) {
    files.push(['report.html', writeReport(runs, { title, notes: noteLines(result) })])
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
  return phases.flatMap(({ label, load }) =>
    load === undefined ? [] : [{ title: label, result: load }],
  )
}
