import type { LoadResult } from '../load/results/result.ts'
import { type Endings, endingsOf } from './endings.ts'
import { percentage, wholeNumber } from './shown-numbers.ts'

/** Summarizes a run in one sentence. */
export function verdictOf(result: LoadResult): string {
  const { calls, success } = result.counts
  if (calls === 0) return 'No call was made.'
  const parts = blamed(endingsOf(result), calls)
  if (parts.length === 0) return `All ${wholeNumber(calls)} calls did what they should.`
  const head = `${wholeNumber(success)} of ${wholeNumber(calls)} calls did what they should`
  return `${head}; ${parts.join(', ')}.`
}

/** Summarizes the tasks of a run; undefined when each task has one call. */
export function taskVerdict({ counts, indicators }: LoadResult): string | undefined {
  const { tasks, calls, failedTasks, degradedTasks } = counts
  if (tasks === 0 || tasks === calls) return undefined
  const share = percentage(indicators.blastRadius)
  const each = (indicators.tcaf ?? 0).toFixed(indicators.tcaf! % 1 === 0 ? 0 : 1)
  const degraded =
    degradedTasks === 0 ? '' : `, and ${wholeNumber(degradedTasks)} did without a part`
  const head = `Of ${wholeNumber(tasks)} tasks of ${each} calls,`
  if (failedTasks === 0) return `${head} none failed${degraded}.`
  return `${head} ${wholeNumber(failedTasks)} failed (${share})${degraded}.`
}

/** Summarizes the gates; undefined without any. */
export function gateVerdict({ slo }: LoadResult): string | undefined {
  if (slo.length === 0) return undefined
  const breached = slo.filter(({ ok }) => !ok)
  if (breached.length === 0) return slo.length === 1 ? 'Its gate held.' : 'All gates held.'
  return `Breached: ${breached.map(({ gate }) => gate).join(', ')}.`
}

function blamed(endings: Endings, calls: number): string[] {
  const said: [number, (share: string) => string][] = [
    [endings.injected, (share) => `${share} were broken on purpose`],
    [
      endings.real,
      (share) =>
        endings.injected > 0 ? `${share} by the app itself` : `${share} were broken by the app`,
    ],
    [endings.unattributed, (share) => `${share} broke off without telling whose fault it was`],
    [endings.squall, (share) => `${share} failed because of Squall itself`],
    [endings.client, (share) => `${share} were not sent by the client`],
    [endings.wrong, (share) => `${share} were answered, but wrongly`],
    [endings.late, (share) => `${share} came too late`],
  ]
  return said.filter(([count]) => count > 0).map(([count, say]) => say(percentage(count / calls)))
}
