import { matchesGlob } from '../../base/glob.ts'
import { PastRunError, readHistory, readPastResult } from '../experiment/history.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import type { WrittenRule } from '../experiment/plan.ts'
import { NotKeptError, readKept } from '../experiment/read-plan.ts'
import { questionsOf } from './questions.ts'

/** A question that an earlier experiment asked. */
export interface PastTest {
  readonly run: string
  readonly question: string
  /** Returns true for the tools that the rule matches. */
  readonly covers: (tool: string) => boolean
  /** Milliseconds since 1970. */
  readonly at: number
  /** The greatest share that passed, in percent. */
  readonly passedShare: number
  readonly failed: boolean
  /** The measures before the stages: the share of errors, and the p95 in milliseconds. */
  readonly before: { readonly errors: number | null; readonly p95: number | null }
}

/** Limits the reports that are read. */
const MAX_RUNS = 200

/** Reads the questions of earlier experiments on a target; runs that are incomplete are left out. */
export async function pastTests(experiments: string, target: string): Promise<readonly PastTest[]> {
  const entries = (await readHistory(experiments))
    .filter((entry) => entry.target === target)
    .slice(-MAX_RUNS)
  const found: PastTest[] = []
  for (const { id } of entries) {
    try {
      const result = await readPastResult(experiments, id)
      const { read } = await readKept(experiments, id)
      if (read.ok) found.push(...testsOf(result, read.plan.rules?.rules ?? []))
    } catch (error) {
      if (!(error instanceof PastRunError || error instanceof NotKeptError)) throw error
    }
  }
  return found
}

/** Returns the questions of a run that came to a verdict. */
export function testsOf(
  { id, startedAt, verdict, stages, before }: ExperimentResult,
  rules: readonly WrittenRule[],
): readonly PastTest[] {
  const failed = verdict === 'failed'
  if (!failed && verdict !== 'passed') return []
  const shares = stages.map(({ share }) => share ?? 0)
  const passed = failed ? shares.slice(0, -1) : shares
  const { errors, p95 } = before.measured
  return rules.flatMap((rule) =>
    questionsOf(rule).map(({ id: question }) => ({
      run: id,
      question,
      covers: coverage(rule),
      at: Date.parse(startedAt),
      passedShare: Math.max(0, ...passed),
      failed,
      before: { errors, p95 },
    })),
  )
}

function coverage({ match }: WrittenRule): (tool: string) => boolean {
  const { tool } = (match ?? {}) as Readonly<Record<string, unknown>>
  const globs = (Array.isArray(tool) ? (tool as readonly unknown[]) : [tool]).filter(
    (glob) => typeof glob === 'string',
  )
  if (tool === undefined) return () => true
  return (name) => globs.some((glob) => matchesGlob(glob, name))
}
