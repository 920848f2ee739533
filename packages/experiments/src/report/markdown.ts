import { foreign, markdownText, moment } from '#base'
import { agentTable, findingsTable, verdictTable } from './agent-tables.ts'
import {
  type Cell,
  type ReportAbout,
  type ReportTable,
  type TitledRun,
  indicatorTable,
  speedTable,
} from './report-table.ts'
import {
  errorTable,
  faultTable,
  gateTable,
  runTable,
  toolErrorTable,
  toolTable,
} from './run-tables.ts'
import { gateVerdict, taskVerdict, verdictOf } from './verdict.ts'

/** Renders the report as Markdown: the text and numbers of the HTML file, without charts. */
export function reportMarkdown(runs: readonly TitledRun[], about: ReportAbout = {}): string {
  const [first] = runs
  if (first === undefined) throw new RangeError('a report needs at least one run')
  const several = runs.length > 1
  const { run } = first.result
  const title = about.title ?? (several ? 'Load report, compared' : 'Load report')
  const notes = (about.notes ?? []).map((note) => `> ${markdownText(foreign(note, 500))}`)
  const verdicts = runs.flatMap((each) => verdictBlocks(each, several))
  const blocks = [
    `# ${text(title)}`,
    `${text(run.server)}, ${text(run.target)}, ${moment(run.startedAt)}`,
    ...(several ? [...notes, ...verdicts] : [...verdicts, ...notes]),
    ...(about.tables ?? []).flatMap((table) => tableBlocks(table, 2)),
    ...tableBlocks(indicatorTable(runs), 2),
    ...tableBlocks(speedTable(runs), 2),
    ...runs.flatMap((each) => runBlocks(each, several)),
  ]
  return `${blocks.join('\n\n')}\n`
}

function verdictBlocks({ title, about, result }: TitledRun, several: boolean): string[] {
  const verdicts = [gateVerdict(result), verdictOf(result), taskVerdict(result)]
  if (!result.run.complete) verdicts.push('Ended early: the results are incomplete.')
  const sentences = verdicts.filter((each) => each !== undefined).map(markdownText)
  const words = about === undefined ? '' : ` (${markdownText(foreign(about, 300))})`
  return [`${several ? `**${text(title)}**${words}: ` : ''}${sentences.join(' ')}`]
}

function runBlocks({ title, result }: TitledRun, several: boolean): string[] {
  const level = several ? 3 : 2
  const tables = [
    toolTable,
    toolErrorTable,
    faultTable,
    errorTable,
    findingsTable,
    verdictTable,
    agentTable,
    gateTable,
    runTable,
  ].map((of) => of(result))
  const blocks = tables.flatMap((table) => tableBlocks(table, level))
  return several ? [`## ${text(title)}`, ...blocks] : blocks
}

/** Renders a table as Markdown blocks; an empty table has none. */
export function tableBlocks(table: ReportTable, level: number): string[] {
  if (table.rows.length === 0) return []
  // The numbers beside a bar carry the same information.
  const shown = table.columns.map((_, i) => table.rows.some((row) => row[i]!.bar === undefined))
  const kept = <T>(all: readonly T[]): T[] => all.filter((_, i) => shown[i])
  const columns = kept(table.columns)
  const lines = [
    columns.map(({ name }) => markdownText(name)),
    columns.map(({ number }) => (number === true ? '---:' : '---')),
    ...table.rows.map((row) => kept(row).map((each, i) => cellText(each, i))),
  ]
  const heading = `${'#'.repeat(level)} ${markdownText(table.title)}`
  const about = table.about === undefined ? [] : [markdownText(table.about)]
  return [heading, ...about, lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')]
}

/** Adds the explanation of a value. Explanations of names appear only in HTML. */
function cellText({ text: value, about = '' }: Cell, column: number): string {
  const shown = markdownText(value)
  return column === 0 || about === '' ? shown : `${shown} (${markdownText(about)})`
}

function text(foreignText: string): string {
  return markdownText(foreign(foreignText))
}
