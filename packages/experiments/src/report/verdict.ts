import type { LoadResult } from '../load/results/result.ts'
import { ENDINGS, type Endings, endingsOf } from './endings.ts'
import { integerText, percentage } from '#base'
import { gateWords } from './gate-words.ts'

/** Summarizes a run in one sentence. */
export function verdictOf(result: LoadResult): string {
  const { calls, success } = result.counts
  if (calls === 0) return 'No call was made.'
  const parts = failures(endingsOf(result), calls)
  if (parts.length === 0) return `All ${integerText(calls)} calls succeeded.`
  const head = `${integerText(success)} of ${integerText(calls)} calls succeeded`
  return `${head}; ${parts.join(', ')}.`
}

/** Summarizes the tasks of a run; undefined when each task has one call. */
export function taskVerdict({ counts, indicators }: LoadResult): string | undefined {
  const { tasks, calls, failedTasks, degradedTasks } = counts
  if (tasks === 0 || tasks === calls) return undefined
  const share = percentage(indicators.blastRadius)
  const each = (indicators.tcaf ?? 0).toFixed(indicators.tcaf! % 1 === 0 ? 0 : 1)
  const degraded = degradedTasks === 0 ? '' : `, and ${integerText(degradedTasks)} were degraded`
  const head = `Of ${integerText(tasks)} tasks of ${each} calls,`
  if (failedTasks === 0) return `${head} none failed${degraded}.`
  return `${head} ${integerText(failedTasks)} failed (${share})${degraded}.`
}

/** Summarizes the gates; undefined without any. */
export function gateVerdict({ slo }: LoadResult): string | undefined {
  if (slo.length === 0) return undefined
  const failed = slo.filter(({ ok }) => !ok)
  if (failed.length === 0) return slo.length === 1 ? 'Its gate passed.' : 'All gates passed.'
  return `Failed: ${failed.map((each) => gateWords(each)).join('; ')}.`
}

function failures(endings: Endings, calls: number): string[] {
  return ENDINGS.filter(({ name }) => name !== 'ok' && endings[name] > 0).map(
    ({ name, words }) => `${percentage(endings[name] / calls)} ${words}`,
  )
}
