import { durationText, foreign, integerText, percentage, ownCommand } from '#base'
import { cell, type Cell, type ReportTable } from '../report/report-table.ts'
import { FAULT_RULES } from './faults.ts'
import { type SweepVerdict, VERDICT_NAMES, VERDICTS } from './judge.ts'
import { badCells, type CellResult, isBad, type SweepResult } from './sweep-result.ts'

/** Returns a verdict as the table shows it, with its words. */
export function verdictWords(verdict: SweepVerdict): string {
  const { short, words } = VERDICTS[verdict]
  return `${short}: ${words}`
}

/** Summarizes a sweep in one sentence. */
export function sweepSentence(result: SweepResult): string {
  const { cells, calls, left } = result
  const counts = VERDICT_NAMES.map(
    (verdict) => [verdict, cells.filter((each) => each.verdict === verdict).length] as const,
  )
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${integerText(count)} ${VERDICTS[verdict].words}`)
  const rest = left === 0 ? '' : ` ${integerText(left)} were not run.`
  const total = `${integerText(calls.length)} calls, ${integerText(cells.length)} single failures`
  return `${total}: ${counts.join(', ') || 'none was run'}.${rest}`
}

/** Tabulates the verdicts: calls down, faults across. */
export function sweepTable({ calls, cells, settings }: SweepResult): ReportTable {
  const by = new Map(cells.map((each) => [each.id, each]))
  return {
    title: 'Which single failure breaks the task',
    ...(settings.repeat > 1 && { about: `The worst of ${settings.repeat} runs counts.` }),
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
  const { runs, verdict } = result
  const good = runs.filter((run) => run.verdict === 'survived' || run.verdict === 'finished').length
  const about = runs.length > 1 ? `${good} of ${runs.length}` : ''
  const tone = isBad(result) ? 'bad' : verdict === 'survived' ? 'good' : undefined
  return { text: VERDICTS[verdict].short, about, ...(tone && { tone }) }
}

/** Lists the cells that break the task, and the command that runs the first again. */
export function badTable(result: SweepResult): ReportTable {
  const bad = badCells(result)
  const [first] = bad
  return {
    title: 'Failures that break the task',
    ...(first !== undefined && { about: `Run again: ${againCommand(first, result)}` }),
    columns: [{ name: 'Cell' }, { name: 'What happened' }],
    rows: bad.map((each) => [
      { text: each.id, tone: 'bad' },
      { text: cellSentence(each, result), about: lastLine(each) },
    ]),
  }
}

/** Says what happened in a cell. */
export function cellSentence(each: CellResult, { calls }: SweepResult): string {
  const { tool, number } = calls.find((call) => call.number === each.call)!
  const { sees } = FAULT_RULES[each.fault]
  const shares = each.runs.length === 1 ? '' : ` (in ${percentage(shareOf(each))} of runs)`
  return `Call ${number}, ${foreign(tool, 60)}, got ${sees}: ${VERDICTS[each.verdict].meaning}${shares}.`
}

function shareOf(each: CellResult): number {
  return each.runs.filter((run) => run.verdict === each.verdict).length / each.runs.length
}

function lastLine({ runs }: CellResult): string {
  return runs.at(-1)?.lines.at(-1) ?? ''
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

function shellWord(word: string): string {
  return /^[\w./:=@%+,{}-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** Lists the calls that are not tested, because they are not in each run without a fault. */
export function unstableTable({ unstable }: SweepResult): ReportTable {
  return {
    title: 'Unstable calls',
    about: 'They are not in each of the three runs without a fault, and are not tested.',
    columns: [{ name: 'Call' }, { name: 'Arguments' }],
    rows: unstable.map(({ tool, args }) => [cell(foreign(tool, 60)), cell(args)]),
  }
}
