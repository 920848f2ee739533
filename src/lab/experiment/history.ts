import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCheck } from '#checks/history'
import { type ExperimentResult, HISTORY_MEMBERS, type HistoryEntry } from './experiment-result.ts'

export type { HistoryEntry } from './experiment-result.ts'

const HISTORY_FILE = 'history.jsonl'
const MAX_BYTES = 64 * 1024 * 1024

/** Appends the entry of a result. */
export async function addToHistory(directory: string, result: ExperimentResult): Promise<void> {
  const entry = Object.fromEntries(HISTORY_MEMBERS.map((member) => [member, result[member]]))
  await mkdir(directory, { recursive: true })
  await appendFile(join(directory, HISTORY_FILE), `${JSON.stringify(entry)}\n`)
}

/** Reads all runs, the oldest first. Invalid lines are skipped: a run may have died while writing. */
export async function readHistory(directory: string): Promise<readonly HistoryEntry[]> {
  let text: string
  try {
    text = await readFile(join(directory, HISTORY_FILE), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return text
    .slice(-MAX_BYTES)
    .split('\n')
    .map(entryOf)
    .filter((entry) => entry !== undefined)
}

const fits = makeCheck(() => ({}))

function entryOf(line: string): HistoryEntry | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return fits(value) ? (value as HistoryEntry) : undefined
  } catch {
    return undefined
  }
}
