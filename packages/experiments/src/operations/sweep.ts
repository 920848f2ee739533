import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CLEAR_LINE, interruption, plainText, redraw, redraws, sha256Of } from '#base'
import { INTERRUPTED, InterruptedError, print, UsageError } from '#cli'
import { redactText } from '#sidecar'
import { withJunit, writeAll, writeJunit } from '../cli/junit.ts'
import type { SweepRequest } from '../commands/sweep.ts'
import { progressBar } from '../load/load-progress.ts'
import { textTable, withoutAbout } from '../report/text-table.ts'
import { openSweepTape } from '../sweep/sweep-tape.ts'
import { badCells, readSweep, type SweepResult, type SweepSettings } from '../sweep/sweep-result.ts'
import {
  againCommand,
  cellSentence,
  sweepSentence,
  sweepSuite,
  sweepTable,
  unstableTable,
} from '../sweep/sweep-tables.ts'
import { sweepHtml } from '../sweep/sweep-html.ts'
import { sweep } from '../sweep/sweep.ts'

const BROKEN = 1

/** Runs a sweep with its progress, and writes its results; returns the exit code. */
export function sweepTape(request: SweepRequest): Promise<number> {
  return withJunit(request.junit, 'squall sweep', () => sweepToResult(request))
}

async function sweepToResult(request: SweepRequest): Promise<number> {
  const { results: directory, json } = request
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  const progress = showCells(json)
  const began = performance.now()
  try {
    const result = await storedSweep(request, interrupt.signal, progress.show)
    progress.stop()
    const seconds = (performance.now() - began) / 1000
    const suite = sweepSuite(result, seconds, request.accept)
    const text = json ? `${JSON.stringify(result)}\n` : plainText(sweepText(result, directory))
    await writeAll(
      () => writeJunit(request.junit, suite),
      () => print(text),
    )
    if (interrupt.signal.aborted) return INTERRUPTED
    return suite.cases.some(({ failure }) => failure !== undefined) ? BROKEN : 0
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    throw new InterruptedError('interrupted before the sweep had a result', { cause: error })
  } finally {
    progress.stop()
    interrupt.forget()
  }
}

/** Runs a sweep, and stores its result and its page. */
export async function storedSweep(
  request: Omit<SweepRequest, 'accept' | 'junit' | 'json'>,
  stop: AbortSignal,
  onProgress: (done: number, all: number) => void,
): Promise<SweepResult> {
  const { results: directory, command, check, match, faults, repeat, cellTimeout } = request
  const tape = await openSweepTape(request.tape, match)
  const settings: SweepSettings = {
    tape: request.tape,
    digest: sha256Of(await readFile(request.tape)),
    command: command.map(redactText),
    check: check === undefined ? null : redactText(check),
    match,
    faults,
    repeat,
    cellTimeoutMs: cellTimeout,
  }
  try {
    const earlier = request.resume ? await earlierSweep(directory, settings) : undefined
    const result = await sweep({ ...request, settings, tape, earlier, stop, onProgress })
    await writeFile(join(directory, 'report.html'), sweepHtml(result), { mode: 0o600 })
    return result
  } finally {
    await tape.close()
  }
}

/** Reads the results of the same sweep. */
async function earlierSweep(directory: string, settings: SweepSettings): Promise<SweepResult> {
  const earlier = await readSweep(directory)
  if (earlier === undefined) {
    throw new UsageError(
      'INVALID_VALUE',
      `${directory} has no results of a sweep`,
      'remove --resume',
    )
  }
  const { tape: _, ...own } = settings
  const { tape: __, ...others } = earlier.settings
  if (JSON.stringify(own) === JSON.stringify(others)) return earlier
  throw new UsageError(
    'INVALID_VALUE',
    `the results in ${directory} belong to another tape, command or set of flags`,
    'name another directory with --results',
  )
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

const MAX_SHOWN = 10

/** Lists the cells that break the task, and the command that shows the first again. */
function badText(result: SweepResult): string {
  const bad = badCells(result)
  const [first] = bad
  if (first === undefined) return ''
  const shown = bad.slice(0, MAX_SHOWN).map((each) => `${each.id}: ${cellSentence(each, result)}`)
  const left = bad.length - shown.length
  const more = left > 0 ? [`and ${left} more; the report has them all`] : []
  return `${[...shown, ...more].join('\n')}\nagain: ${againCommand(first, result)}\n`
}

/** Draws the progress on a terminal, with the time that is left. */
function showCells(isQuiet: boolean) {
  const output = process.stderr
  const isLive = !isQuiet && redraws(output, process.env)
  const began = performance.now()
  let first: number | undefined
  return {
    show: (done: number, all: number): void => {
      first ??= done
      if (!isLive) return
      const each = (performance.now() - began) / Math.max(1, done - first)
      const left = done === first ? '' : `, ${Math.ceil((each * (all - done)) / 1000)} s left`
      const bar = progressBar(done / Math.max(1, all), 20)
      redraw(output, `${bar} ${done} of ${all} cells${left}`, 80)
    },
    stop: (): void => {
      if (isLive && first !== undefined) output.write(CLEAR_LINE)
      first = undefined
    },
  }
}
