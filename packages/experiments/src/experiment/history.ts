import { appendFile, type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCheck as makeStoredCheck } from '#checks/experiment'
import { makeCheck } from '#checks/history'
import { makeDirectory, parsedJson, plain, quoted, readBoundedText, systemReason } from '#base'
import { type ExperimentResult, HISTORY_MEMBERS, type HistoryEntry } from './experiment-result.ts'
import { RUN_ID } from './run-id.ts'

export type { HistoryEntry } from './experiment-result.ts'

const HISTORY_FILE = 'history.jsonl'
const MAX_BYTES = 64 * 1024 * 1024

/** Appends the entry of a result, on a line of its own: a run may have died while writing. */
export async function addToHistory(directory: string, result: ExperimentResult): Promise<void> {
  const entry = Object.fromEntries(HISTORY_MEMBERS.map((member) => [member, result[member]]))
  await makeDirectory(directory)
  const file = join(directory, HISTORY_FILE)
  const begin = ['', '\n'].includes(await endOf(file, 1)) ? '' : '\n'
  await appendFile(file, `${begin}${JSON.stringify(entry)}\n`)
}

/** Reads all runs, the oldest first, from the last 64 MiB. Skips invalid lines. */
export async function readHistory(directory: string): Promise<readonly HistoryEntry[]> {
  const lines = (await endOf(join(directory, HISTORY_FILE), MAX_BYTES)).split('\n')
  return lines.map(entryOf).filter((entry) => entry !== undefined)
}

/** Reads the last bytes of a file; none where it does not exist. */
async function endOf(path: string, most: number): Promise<string> {
  let file: FileHandle
  try {
    file = await open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
  try {
    const { size } = await file.stat()
    const length = Math.min(size, most)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const fits = makeCheck(() => ({}))

function entryOf(line: string): HistoryEntry | undefined {
  const value = parsedJson(line)
  return fits(value) ? (value as HistoryEntry) : undefined
}

/** Reports a run that is not in the history, or that cannot be read. */
export class PastRunError extends Error {
  override readonly name = 'PastRunError'
  readonly fix: string

  constructor(wrong: string, fix = 'squall experiment list shows the runs') {
    super(wrong)
    this.fix = fix
  }
}

const MAX_SHOWN = 5

/**
 * Returns the id of a run: of the last one for `last`, else of the only one that begins so. Throws
 * a `PastRunError`.
 */
export async function findRun(directory: string, begin: string): Promise<string> {
  const ids = (await readHistory(directory)).map(({ id }) => id).filter((id) => RUN_ID.test(id))
  const where = `the history in ${plain(directory)}`
  const last = ids.at(-1)
  if (last === undefined) {
    throw new PastRunError(`no runs found in ${where}`, 'set the directory with --experiments')
  }
  if (begin === 'last') return last
  const found = [...new Set(ids.filter((id) => id.startsWith(begin)))]
  if (begin === '' || found.length === 0) {
    throw new PastRunError(`run ${quoted(begin)} not found in ${where}`)
  }
  if (found.length === 1) return found[0]!
  const shown = found.slice(-MAX_SHOWN).join(', ')
  const more = found.length > MAX_SHOWN ? `, and ${found.length - MAX_SHOWN} more` : ''
  throw new PastRunError(
    `${found.length} runs have the id prefix ${quoted(begin)}: ${shown}${more}`,
    'use a longer prefix',
  )
}

const fitsResult = makeStoredCheck(() => ({}))

/** Reads the result of a run. Throws a `PastRunError`. */
export async function readPastResult(directory: string, id: string): Promise<ExperimentResult> {
  const file = join(directory, id, 'report.json')
  let text = ''
  try {
    text = await readBoundedText(file, MAX_BYTES)
  } catch (error) {
    throw new PastRunError(`${plain(file)} cannot be read (${systemReason(error)})`)
  }
  const result = parsePastResult(text)
  if (result !== undefined) return result
  throw new PastRunError(
    `${plain(file)} is not an experiment report`,
    'specify the report.json of another run',
  )
}

/** Parses the result of a run; undefined when the text is none. */
export function parsePastResult(text: string): ExperimentResult | undefined {
  const value = parsedJson(text)
  return fitsResult(value) ? (value as ExperimentResult) : undefined
}

/** The runs to list; all without a choice. */
export interface RunChoice {
  readonly name?: string | undefined
  readonly verdict?: string | undefined
  readonly last?: number | undefined
}

/** Returns the newest runs with a name and a verdict. */
export function selectedRuns(
  runs: readonly HistoryEntry[],
  { name, verdict, last = Infinity }: RunChoice,
): readonly HistoryEntry[] {
  const isChosen = (run: HistoryEntry): boolean =>
    run.name === (name ?? run.name) && run.verdict === (verdict ?? run.verdict)
  return runs.filter(isChosen).slice(-last)
}
