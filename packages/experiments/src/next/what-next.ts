import type { Policy } from '#rules'
import type { History, Tasks } from '#admin-api'
import { hasUnseen, matchesGlob } from '#base'
import { baselinesOf, prometheusBaselines, type SeriesChoice } from '../slo/baseline.ts'
import { learn, readBaselines } from './baselines.ts'
import { pastTests } from './past-tests.ts'
import { type Behaviour, type Rank, rank } from './rank.ts'

/** The sources of a ranking. */
export interface NextSources {
  /** The origin and the path of the target, as in the history. */
  readonly target: string
  /** The directory of the history. */
  readonly experiments: string
  /** The last minutes of the sidecar. */
  readonly recent: History
  /** The tools that get values from the results of others; undefined where that is not watched. */
  readonly flows: Tasks['flows'] | undefined
  /** The file of the learned behaviour. */
  readonly baselines: string
  /** A Prometheus, in place of that file. */
  readonly prometheus?: SeriesChoice | undefined
  /** True to add the behaviour of now to the file. */
  readonly learns: boolean
}

/**
 * Ranks what to test next. Throws a `BaselinesError`, or a `MonitorError` when the Prometheus cannot
 * be read.
 */
export async function whatNext(sources: NextSources): Promise<readonly Rank[]> {
  const { target, experiments, recent, flows, baselines, prometheus, learns } = sources
  const at = Date.now()
  // Both sides of a comparison come from the same source: quantiles over other times differ.
  const seen =
    prometheus === undefined
      ? recentTools(recent)
      : await prometheusBaselines({ ...prometheus, over: '15m' })
  const now = seen.filter(({ tool }) => isPlainName(tool))
  const usual =
    prometheus === undefined
      ? await readBaselines(baselines, target)
      : new Map((await prometheusBaselines(prometheus)).map((each) => [each.tool, each]))
  const past = await pastTests(experiments, target)
  const ranks = rank({ now, usual, past, flows: flows?.filter(({ to }) => isPlainName(to)), at })
  if (learns && prometheus === undefined) await learn(baselines, target, now, at)
  return ranks
}

/** Returns the behaviour of tools in the last minutes; an older sidecar has only points of it. */
function recentTools(history: History): readonly Behaviour[] {
  // The highest p95 of the points is above that of the whole time, and must not be learned for it.
  return history.tools ?? baselinesOf(history).map((each) => ({ ...each, p95: null }))
}

const MAX_NAME = 128

/** Returns true for a name that a plan can name exactly, and that a message can show. */
export function isPlainName(tool: string): boolean {
  // Calls of other methods, and of tools beyond the bound, have these labels.
  if (tool === '' || tool === 'other') return false
  // Labels are cut to this length, and have U+FFFD for what a label cannot hold. Text of an admin port
  // is read with a backslash for characters that a message cannot show.
  return tool.length < MAX_NAME && !/[*?\\\ufffd]/.test(tool) && !hasUnseen(tool)
}

/** Returns the ranks that a policy allows to test. */
export function allowedRanks(ranks: readonly Rank[], policy: Policy | undefined): readonly Rank[] {
  const { faults, neverTools = [] } = policy ?? {}
  return ranks.filter(
    ({ tool, question }) =>
      (faults?.includes(question.fault) ?? true) &&
      !neverTools.some((glob) => matchesGlob(glob, tool)),
  )
}
