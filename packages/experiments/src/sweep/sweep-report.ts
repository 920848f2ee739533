import { durationText, foreign, htmlText, integerText, moment, ownCommand, shellWord } from '#base'
import { htmlPage, MARK } from '../report/html-page.ts'
import { tableCards } from '../report/html-parts.ts'
import { cell, type Cell, type ReportTable } from '../report/report-table.ts'
import type { JUnitSuite } from '../report/junit.ts'
import { textTable, withoutAbout } from '../report/text-table.ts'
import { FAULT_RULES } from './faults.ts'
import { type SweepVerdict, VERDICT_NAMES, VERDICTS } from './judge.ts'
import { badCells, type CellResult, isBad, type SweepResult } from './sweep-result.ts'

const MAX_SHOWN = 10

/** Summarizes a sweep in one sentence. */
function sweepSentence(result: SweepResult): string {
  const { cells, calls, left } = result
  const counts = VERDICT_NAMES.flatMap((verdict) => {
    const count = cells.filter((each) => each.verdict === verdict).length
    return count === 0 ? [] : [`${integerText(count)} ${VERDICTS[verdict].words}`]
  })
  const rest = left === 0 ? '' : ` ${integerText(left)} were not run.`
  const total = `${integerText(calls.length)} calls, ${integerText(cells.length)} single failures`
  return `${total}: ${counts.join(', ') || 'none was run'}.${rest}`
}

/** Tabulates the verdicts: calls down, faults across. */
export function sweepTable({ calls, cells, settings }: SweepResult): ReportTable {
  const by = new Map(cells.map((each) => [each.id, each]))
  return {
    title: 'Which single failure breaks the task',
    ...(settings.repeat > 1 && {
      about: `Each cell shows the worst verdict of ${settings.repeat} runs, the number of good runs among the runs with the fault, and the 95 % confidence interval of their share.`,
    }),
    columns: [{ name: 'Call' }, ...settings.faults.map((name) => ({ name }))],
    rows: calls.map(({ number, tool, args, occurrence }) => [
      {
        text: `${number} ${foreign(tool, 28)}${occurrence > 0 ? ` (${occurrence + 1})` : ''}`,
        about: args,
      },
      ...settings.faults.map((fault) => verdictCell(by.get(`${number}-${fault}`))),
    ]),
  }
}

function verdictCell(result: CellResult | undefined): Cell {
  if (result === undefined) return cell('')
  const { share, verdict } = result
  const about = share && shareText(share)
  const tone = isBad(result) ? 'bad' : verdict === 'survived' ? 'good' : undefined
  return { text: VERDICTS[verdict].short, ...(about && { about }), ...(tone && { tone }) }
}

function shareText({ good, runs, low, high }: NonNullable<CellResult['share']>): string {
  return `${good} of ${runs}, ${Math.round(low * 100)}–${Math.round(high * 100)} %`
}

/** Lists the cells that break the task, and the command that runs the first again. */
function badTable(result: SweepResult): ReportTable {
  const bad = badCells(result)
  const [first] = bad
  return {
    title: 'Failures that break the task',
    ...(first !== undefined && { about: `Run again: ${againCommand(first, result)}` }),
    columns: [{ name: 'Cell' }, { name: 'What happened' }],
    rows: bad.map((each) => [
      { text: each.id, tone: 'bad' },
      { text: cellSentence(each, result), about: each.runs.at(-1)?.lines.at(-1) ?? '' },
    ]),
  }
}

/** Says what happened in a cell. */
export function cellSentence(each: CellResult, { calls }: SweepResult): string {
  const { tool, number } = calls.find((call) => call.number === each.call)!
  const { sees } = FAULT_RULES[each.fault]
  const share = each.share === undefined ? '' : ` (good runs: ${shareText(each.share)})`
  return `Call ${number}, ${foreign(tool, 60)}, got ${sees}: ${VERDICTS[each.verdict].meaning}${share}.`
}

/** Returns the command that runs a cell again. */
export function againCommand({ id }: CellResult, { settings }: SweepResult): string {
  const { tape, check, match, command, repeat, cellTimeoutMs } = settings
  const flags = [
    `--tape ${shellWord(tape)}`,
    `--cell ${id}`,
    ...(check === null ? [] : [`--check ${shellWord(check)}`]),
    ...(match === 'arguments' ? [] : [`--match ${match}`]),
    ...(repeat === 1 ? [] : [`--repeat ${repeat}`]),
    ...(cellTimeoutMs === 30_000 ? [] : [`--cell-timeout ${durationText(cellTimeoutMs)}`]),
  ]
  return `${ownCommand()} sweep ${flags.join(' ')} -- ${command.map(shellWord).join(' ')}`
}

/** Lists the calls that are not tested, because they are not in each run without a fault. */
function unstableTable({ unstable }: SweepResult): ReportTable {
  return {
    title: 'Unstable calls',
    about:
      'Calls that did not occur in all three runs without a fault. These calls are not tested.',
    columns: [{ name: 'Call' }, { name: 'Arguments' }],
    rows: unstable.map(({ tool, args }) => [cell(foreign(tool, 60)), cell(args)]),
  }
}

/** Returns the cells as tests, and that the sweep ran to its end. */
export function sweepSuite(
  result: SweepResult,
  seconds: number,
  accept: readonly SweepVerdict[],
): JUnitSuite {
  const { cells, calls, startedAt, left } = result
  // A sweep in which no fault was injected proves nothing.
  const isProof = cells.some(({ verdict }) => verdict !== 'not_reached')
  const early =
    left > 0 ? `${left} ${left === 1 ? 'cell was' : 'cells were'} not run; add --resume` : undefined
  const tests = cells.map((each) => ({
    name: `${each.id} ${calls.find(({ number }) => number === each.call)?.tool ?? ''}`,
    seconds: each.runs.reduce((sum, run) => sum + run.seconds, 0),
    failure: isBad(each) && !accept.includes(each.verdict) ? cellSentence(each, result) : undefined,
  }))
  const failure = early ?? (isProof ? undefined : 'no fault was injected')
  const end = { name: 'the sweep runs to its end', seconds: 0, failure }
  return { name: 'squall sweep', startedAt, seconds, cases: [...tests, end] }
}

/** Returns what a sweep found, as text. */
export function sweepText(result: SweepResult, directory: string): string {
  return [
    sweepSentence(result),
    textTable(withoutAbout(sweepTable(result))),
    textTable(unstableTable(result)),
    badText(result),
    `report: ${directory}/report.html\n`,
  ]
    .filter((part) => part !== '')
    .join('\n')
}

/** Lists the cells that break the task, and the command that runs the first again. */
function badText(result: SweepResult): string {
  const { rows, about } = badTable(result)
  if (rows.length === 0) return ''
  const shown = rows.slice(0, MAX_SHOWN).map(([id, what]) => `${id!.text}: ${what!.text}`)
  const left = rows.length - shown.length
  const more = left > 0 ? [`and ${left} more; the report has them all`] : []
  return `${[...shown, ...more, about].join('\n')}\n`
}

/** Renders a sweep as a self-contained HTML file. */
export function sweepHtml(result: SweepResult): string {
  const title = `Sweep of ${result.settings.tape}`
  const meanings = Object.values(VERDICTS).map(
    ({ short, words, meaning }) => `<dt>${short}: ${words}</dt><dd>${meaning}</dd>`,
  )
  const tables = [sweepTable(result), badTable(result), unstableTable(result)]
  return htmlPage(title, {
    header: `<header class="top"><h1>${MARK} ${htmlText(foreign(title))}</h1>
<p class="muted">${htmlText(`${foreign(result.settings.command.join(' '), 200)} · ${moment(result.startedAt)}`)}</p></header>`,
    main: `<section class="card verdict" aria-label="Verdict"><p class="sentence">${htmlText(sweepSentence(result))}</p></section>
${tableCards(tables, 'sweep')}
<section class="card"><h2>Verdicts</h2><dl>${meanings.join('')}</dl></section>`,
    squall: result.squall,
    results: result,
  })
}
