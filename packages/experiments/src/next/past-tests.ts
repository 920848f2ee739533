import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readHistory, readPastResult } from '../experiment/history.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import type { WrittenRule } from '../experiment/plan.ts'
import { toolMatcher } from '../experiment/plan-rejections.ts'
import { readSavedPlan } from '../experiment/saved-plan.ts'
import { readSearch } from '../search/search-result.ts'
import { questionsOf } from './questions.ts'
import type { PastTest } from './rank.ts'

/** The share of calls in percent at which a passed test counts in full. */
const WIDE = 50

/** Limits the reports that are read, and the size of each. */
const MAX_RUNS = 50
const MAX_REPORT = 8 * 1024 * 1024

/** An earlier run that can be read, with its rules. */
export interface PastRun {
  readonly result: ExperimentResult
  readonly rules: readonly WrittenRule[]
}

/** Reads the questions of earlier experiments on a target. */
export async function pastTests(experiments: string, target: string): Promise<readonly PastTest[]> {
  const runs = await pastRuns(experiments, target)
  return runs.flatMap(({ result, rules }) => testsOf(result, rules))
}

/**
 * Reads the earlier experiments on a target, the oldest first. Runs that cannot be read or are huge are
 * left out, and those of searches, whose verdicts are about one magnitude.
 */
export async function pastRuns(experiments: string, target: string): Promise<readonly PastRun[]> {
  const searched = await runsOfSearches(experiments)
  const entries = (await readHistory(experiments))
    .filter((entry) => entry.target === target && !searched.has(entry.id))
    .slice(-MAX_RUNS)
  const found: PastRun[] = []
  for (const { id } of entries) {
    try {
      const { size } = await stat(join(experiments, id, 'report.json'))
      if (size > MAX_REPORT) continue
      const result = await readPastResult(experiments, id)
      const { read } = await readSavedPlan(experiments, id)
      if (read.ok) found.push({ result, rules: read.plan.rules?.rules ?? [] })
    } catch {
      // A damaged run must not cost the report of another one.
    }
  }
  return found
}

/** Returns the ids of the runs that searches made. */
async function runsOfSearches(experiments: string): Promise<ReadonlySet<string>> {
  const names = await readdir(experiments).catch(() => [])
  const runs = new Set<string>()
  // Names begin with their time. Most directories are runs, which have no search.
  const sorted = names.toSorted((one, other) => (one < other ? -1 : 1))
  for (const name of sorted.slice(-MAX_DIRECTORIES)) {
    const search = await readSearch(experiments, name)
    for (const id of search?.result.runs ?? []) runs.add(id)
  }
  return runs
}

const MAX_DIRECTORIES = 500

/** Returns the questions of a run that came to a verdict. */
export function testsOf(
  { id, startedAt, verdict, stages, before }: ExperimentResult,
  rules: readonly WrittenRule[],
): readonly PastTest[] {
  const failed = verdict === 'failed'
  if (!failed && verdict !== 'passed') return []
  const shares = stages.map(({ share }) => share ?? 0)
  const passed = failed ? shares.slice(0, -1) : shares
  const share = Math.max(0, ...passed)
  const where = share === 0 ? 'at its first stage' : `above ${share}%`
  const failure = `failed ${where}, and did not pass since`
  const { errors, p95 } = before.measured
  return rules.flatMap((rule) =>
    questionsOf(rule).map(({ id: question }) => ({
      question,
      covers: coverage(rule),
      at: Date.parse(startedAt),
      known: failed ? 0 : Math.min(1, share / WIDE),
      failed,
      result: failed ? failure : `passed at ${share}%`,
      before: { run: id, errors, p95 },
    })),
  )
}

/** Returns true for the tools that a rule certainly matches. */
function coverage(rule: WrittenRule): (tool: string) => boolean {
  const match = (rule['match'] ?? {}) as Readonly<Record<string, unknown>>
  const isUncertain = ['http', 'any', 'all', 'not', 'method'].some((key) => key in match)
  return isUncertain ? () => false : toolMatcher(rule, {})
}
