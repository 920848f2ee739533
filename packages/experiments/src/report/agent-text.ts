import { counted, foreign, integerText } from '#base'
import { differences } from '../load/results/agent-result.ts'
import type { AgentResult } from '../load/results/result.ts'

/** Returns a share of the tasks of agents; null without tasks. */
export function perTask({ tasks }: AgentResult, count: number): number | null {
  return tasks.tasks === 0 ? null : count / tasks.tasks
}

/** Lists the verdicts, the most frequent first. */
export function verdictsText({ totals, waiting }: AgentResult): string {
  const texts = Object.entries(totals)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([verdict, count]) => `${foreign(verdict, 40)} ${integerText(count)}`)
  if (waiting > 0) texts.push(`without a verdict ${integerText(waiting)}`)
  return texts.length === 0 ? 'none' : texts.join(', ')
}

/** Lists the tools whose calls were executed twice; empty without any. */
export function duplicatesText({ duplicates }: AgentResult): string {
  return duplicates
    .slice(0, 10)
    .map(({ tool, idempotent, count }) => {
      const hint = idempotent ? 'idempotent' : 'not declared idempotent'
      return `${foreign(tool, 60)} ${integerText(count)} (${hint})`
    })
    .join(', ')
}

/** Lists the tools that were called with false values. */
export function falseUsesText({ falseUses = [] }: AgentResult): string {
  const uses = falseUses.map(({ tool, hint, count }) => {
    return `${foreign(tool, 60)} ${integerText(count)} (${hint.replace('_', ' ')})`
  })
  return uses.length === 0 ? '0' : uses.slice(0, 10).join(', ')
}

/** Compares the requests of a load with the counts of the sidecars; undefined without both. */
export function comparedText({ compared }: AgentResult): string | undefined {
  if (compared === undefined) return undefined
  const { load, sidecar } = compared
  const different = differences(compared)
  if (different.length === 0) {
    return `the sidecar counted the same ${counted(load.tasks, 'task')}, ${counted(load.calls, 'call')} and ${counted(load.retries, 'retry', 'retries')}`
  }
  const texts = different.map(
    (name) => `${name} ${integerText(load[name])} sent, ${integerText(sidecar[name])} counted`,
  )
  return `the sidecar has different counts: ${texts.join('; ')}`
}
