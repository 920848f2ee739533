import { nearestName, plain, quoted, shortDigest } from '#base'
import type { EXPERIMENT_LIST } from '../commands/past-experiments.ts'
import type { RequestOf } from '../commands/operation.ts'
import { type HistoryEntry, readHistory, selectedRuns } from '../experiment/history.ts'
import { READY_PLANS } from '../experiment/ready-plans.ts'
import { schemaLine, UsageError } from '#cli'

/** Lists the history, the newest run last. */
export async function listExperiments(
  { experiments, name, verdict, last, json }: RequestOf<typeof EXPERIMENT_LIST>,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const all = await readHistory(experiments)
  const entries = selectedRuns(all, { name, verdict, last })
  if (!json && entries.length === 0 && all.length > 0) write('no run matches\n')
  else if (json) write(`${JSON.stringify(entries, null, 2)}\n`)
  else if (entries.length === 0) write(`${plain(experiments)} contains no runs\n`)
  else write([row('id', 'name', 'verdict', 'seed', 'plan'), ...entries.map(line)].join(''))
  return 0
}

function line({ id, name, verdict, stage, seed, planDigest }: HistoryEntry): string {
  const where = stage === null || verdict === 'passed' ? '' : ` at ${stage}`
  return row(id, name, `${verdict}${where}`, String(seed), shortDigest(planDigest))
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

/** Lists the ready plans, or prints one. */
export function showCatalog(
  name: string | undefined,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): number {
  if (name === undefined) {
    for (const { name: each, about } of READY_PLANS) write(`${each.padEnd(20)}${about}\n`)
    return 0
  }
  const found = READY_PLANS.find((each) => each.name === name)
  if (found !== undefined) {
    write(`${schemaLine('experiment', '.')}${found.text}`)
    return 0
  }
  const names = READY_PLANS.map((each) => each.name)
  const near = nearestName(name, names)
  const fix = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`
  throw new UsageError('INVALID_VALUE', `there is no plan ${quoted(name)}`, fix)
}
