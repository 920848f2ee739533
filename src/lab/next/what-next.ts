import { type Behaviour, type Rank, rank } from '../../admin/next/rank.ts'
import { isPlainName } from '../../admin/next/show-next.ts'
import { matchesGlob } from '../../base/glob.ts'
import type { Policy } from '../policy/policy-schema.ts'
import { prometheusBaselines, type SeriesChoice } from '../slo/prometheus-baseline.ts'
import { learn, readBaselines } from './baselines.ts'
import { pastTests } from './past-tests.ts'

/** The sources of a ranking. */
export interface NextSources {
  /** The origin and the path of the target, as in the history. */
  readonly target: string
  /** The directory of the history. */
  readonly experiments: string
  /** The last minutes of the sidecar. */
  readonly recent: readonly Behaviour[]
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
  const { target, experiments, recent, baselines, prometheus, learns } = sources
  const at = Date.now()
  // Both sides of a comparison come from the same source: quantiles over other times differ.
  const now =
    prometheus === undefined ? recent : await prometheusBaselines({ ...prometheus, over: '15m' })
  const usual =
    prometheus === undefined
      ? await readBaselines(baselines, target)
      : byTool(await prometheusBaselines(prometheus))
  const past = await pastTests(experiments, target)
  const ranks = rank({ now: now.filter(({ tool }) => isPlainName(tool)), usual, past, at })
  if (learns && prometheus === undefined) await learn(baselines, target, now, at)
  return ranks
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

function byTool(all: readonly Behaviour[]): ReadonlyMap<string, Behaviour> {
  return new Map(all.map((each) => [each.tool, each]))
}
