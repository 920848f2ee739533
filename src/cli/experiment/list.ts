import { plain } from '../../base/text/foreign-text.ts'
import { type HistoryEntry, readHistory } from '../../lab/experiment/history.ts'
import type { ExperimentListRequest } from '../commands/experiment.ts'

/** Lists the history, the newest run last. */
export async function listExperiments(
  { experiments, json }: ExperimentListRequest,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const entries = await readHistory(experiments)
  if (json) write(`${JSON.stringify(entries, null, 2)}\n`)
  else if (entries.length === 0) write(`no experiment was run yet in ${plain(experiments)}\n`)
  else write([head(), ...entries.map(line)].join(''))
  return 0
}

function head(): string {
  return row('id', 'name', 'verdict', 'seed', 'plan')
}

function line({ id, name, verdict, stage, seed, planDigest }: HistoryEntry): string {
  const where = stage === null || verdict === 'held' ? '' : ` at ${stage}`
  return row(id, name, `${verdict}${where}`, String(seed), planDigest.slice(0, 8))
}

function row(id: string, name: string, verdict: string, seed: string, digest: string): string {
  const cells = [fit(id, 23), fit(name, 20), fit(verdict, 20), fit(seed, 6)]
  return `${cells.join('')}${plain(digest)}\n`
}

function fit(text: string, width: number): string {
  const safe = plain(text)
  const cut = safe.length >= width ? `${safe.slice(0, width - 2)}…` : safe
  return cut.padEnd(width)
}
