import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EndCode, ExperimentResult, Verdict } from './experiment-result.ts'

export interface HistoryEntry {
  readonly id: string
  readonly again?: string
  readonly name: string
  readonly startedAt: string
  readonly endedAt: string
  readonly target: string
  readonly environment: string
  readonly verdict: Verdict
  readonly stage: string | null
  readonly code: EndCode | null
  readonly why: string
  readonly planDigest: string
  readonly rulesDigest: string | null
  readonly seed: number
  readonly mttdMs: number | null
  readonly mttrMs: number | null
}

const HISTORY_FILE = 'history.jsonl'
const MAX_BYTES = 64 * 1024 * 1024

/** Returns the history entry of a result. */
export function historyEntry(result: ExperimentResult): HistoryEntry {
  const { id, again, name, startedAt, endedAt, target, environment } = result
  const { verdict, stage, code, why, planDigest, rulesDigest, seed, mttdMs, mttrMs } = result
  return {
    id,
    ...(again !== undefined && { again }),
    name,
    startedAt,
    endedAt,
    target,
    environment,
    verdict,
    stage,
    code,
    why,
    planDigest,
    rulesDigest,
    seed,
    mttdMs,
    mttrMs,
  }
}

/** Appends an entry. */
export async function addToHistory(directory: string, entry: HistoryEntry): Promise<void> {
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

function entryOf(line: string): HistoryEntry | undefined {
  try {
    const value = JSON.parse(line) as Partial<HistoryEntry>
    const texts = [value.id, value.name, value.verdict, value.planDigest, value.startedAt]
    return texts.every((each) => typeof each === 'string') ? (value as HistoryEntry) : undefined
  } catch {
    return undefined
  }
}
