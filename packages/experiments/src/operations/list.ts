import { nearestName, plain, quoted, shortDigest } from '#base'
import type { EXPERIMENT_LIST } from '../commands/past-experiments.ts'
import { type HistoryEntry, readHistory, selectedRuns } from '../experiment/history.ts'
import { READY_PLANS } from '../experiment/ready-plans.ts'
import { print, type RequestOf, UsageError } from '#cli'
import { schemaLine } from '../cli/schema-line.ts'

/** Lists the history, the newest run last. */
export async function listExperiments({
  experiments,
  json,
  ...choice
}: RequestOf<typeof EXPERIMENT_LIST>): Promise<number> {
  const all = await readHistory(experiments)
  const entries = selectedRuns(all, choice)
  const table = [row('id', 'name', 'verdict', 'seed', 'plan'), ...entries.map(line)].join('')
  const none = all.length > 0 ? 'no run matches\n' : `${plain(experiments)} contains no runs\n`
  const text = entries.length === 0 ? none : table
  await print(json ? `${JSON.stringify(entries, null, 2)}\n` : text)
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
export async function showCatalog(name: string | undefined): Promise<number> {
  const found = READY_PLANS.find((each) => each.name === name)
  if (name !== undefined && found === undefined) {
    const names = READY_PLANS.map((each) => each.name)
    const near = nearestName(name, names)
    const fix = near === undefined ? `use one of ${names.join(', ')}` : `did you mean ${near}?`
    throw new UsageError('INVALID_VALUE', `unknown plan ${quoted(name)}`, fix)
  }
  const list = READY_PLANS.map((each) => `${each.name.padEnd(20)}${each.about}\n`).join('')
  await print(found === undefined ? list : `${schemaLine('experiment', '.')}${found.text}`)
  return 0
}
