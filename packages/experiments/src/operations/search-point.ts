import type { EndCode, ExperimentResult } from '../experiment/experiment-result.ts'
import { percentage } from '#base'
import { readAndKeep } from '../experiment/read-plan.ts'
import { filesOf } from '../experiment/saved-plan.ts'
import { RejectedError, rejectionError } from '../experiment/rejection.ts'
import { batchesOf, type Condition } from '../search/condition.ts'
import type { SearchEnd } from '../search/search-result.ts'
import { type Batch, type Decision, sum } from '../search/sequential-test.ts'
import type { Measurement } from '../search/limit-search.ts'
import type { OpenedSearch } from './open-search.ts'
import { type RunAccess, runHere, storeResult, tooManyRuns, withSidecars } from './run-here.ts'

/** One run of a search: what it proves, if anything, and why the search cannot go on, if so. */
interface PointRun {
  readonly id: string
  readonly calls: number
  readonly measurement: Measurement | undefined
  readonly end: SearchEnd | undefined
  readonly text: string
}

/** The codes by which a magnitude fails without a count of calls. */
const FAILED: ReadonlySet<EndCode> = new Set<EndCode>([
  'ABORT_CONDITION',
  'GUARD',
  'TARGET_LOST',
  'NOT_RECOVERED',
])

/** The codes after which the calls of the stage count. */
const COUNTED: ReadonlySet<EndCode> = new Set<EndCode>(['SLO', 'NO_INJECTIONS'])

/** The least time between two looks at the calls of a stage. */
const DECIDE_MS = 1000

/** Runs the plan at one magnitude. Throws a `RejectedError` when the run may not begin. */
export async function runPoint(
  request: RunAccess,
  { kept: stored, condition, plan: limits }: OpenedSearch,
  {
    text,
    stop,
    decide,
  }: {
    readonly text: string
    readonly stop: AbortSignal
    readonly decide: (batches: readonly Batch[]) => Decision['kind']
  },
): Promise<PointRun> {
  const { read, kept } = await readAndKeep(stored.file, text, filesOf(stored), limits)
  // The whole range is checked before the first run; one stage may skip those before it.
  if (!read.ok) throw rejectionError('NOT_SEARCHABLE', 'the plan is invalid', 'change the range')
  const { plan } = read
  const tooMany = await tooManyRuns(request, plan)
  if (tooMany.length > 0) throw new RejectedError(...tooMany)
  const began = performance.now()
  let decideAt = began + DECIDE_MS
  const result = await withSidecars(request, plan, (placed) =>
    runHere(request, {
      ...placed,
      stop,
      onEvent: () => {},
      endEarly: (timeline) => {
        const now = performance.now()
        if (now < decideAt) return undefined
        // A look takes longer the longer the stage is.
        decideAt = now + Math.max(DECIDE_MS, (now - began) / 20)
        if (decide(batchesOf(timeline(), condition)) !== 'failed') return undefined
        return { code: 'SLO', why: condition.text }
      },
    }),
  )
  await storeResult(request.experiments, result, kept, { isOfSearch: true })
  return pointOf(result, condition)
}

function pointOf(result: ExperimentResult, condition: Condition): PointRun {
  const { id, code, why, before, stages, after, steadyAfter } = result
  const [stage] = stages
  const phases = [before, ...stages, ...(after === null ? [] : [after])]
  const calls = phases.reduce((total, { load }) => total + (load?.counts.calls ?? 0), 0)
  const batches = stage?.load === undefined ? [] : batchesOf(stage.load.timeline, condition)
  const counted = sum(batches, 'calls')
  const failed = `${percentage(sum(batches, 'failed') / Math.max(1, counted))} of ${counted} calls failed`
  const end = steadyAfter === false ? UNSTEADY : undefined
  const run = { id, calls, end }
  if (code !== null && FAILED.has(code)) {
    return { ...run, measurement: { batches, code }, text: `${failed}, ${code}` }
  }
  // A magnitude too small for one injection is mild; rules that match no call prove nothing.
  const isCounted = code === null || (COUNTED.has(code) && (stage?.matched ?? 0) > 0)
  if (isCounted) return { ...run, measurement: { batches }, text: failed }
  return { ...run, measurement: undefined, end: { code, why }, text: `inconclusive, ${code}` }
}

const UNSTEADY: SearchEnd = {
  code: 'NOT_RECOVERED',
  why: 'after the rollback the target did not return to steady state in time',
}
