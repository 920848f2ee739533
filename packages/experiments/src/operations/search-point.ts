import type { EndCode, ExperimentResult } from '../experiment/experiment-result.ts'
import { phasesOf } from '../experiment/experiment-tables.ts'
import { percentage } from '#base'
import { readStored } from '../experiment/saved-plan.ts'
import { RejectedError, rejectionError } from '../experiment/rejection.ts'
import { batchesOf, type Condition } from '../search/condition.ts'
import type { SearchEnd } from '../search/search-result.ts'
import { type Batch, type Decision, sum } from '../search/sequential-test.ts'
import type { OpenedSearch } from './open-search.ts'
import { type RunAccess, runHere, storeResult, tooManyRuns, withSidecars } from './run-here.ts'

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
) {
  const kept = { ...stored, text }
  const read = await readStored(kept, limits)
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

/** Returns what a run proves, if anything, and why the search cannot go on, if so. */
function pointOf(result: ExperimentResult, condition: Condition) {
  const { id, code, why, stages, steadyAfter } = result
  const [stage] = stages
  const calls = phasesOf(result).reduce((all, { load }) => all + (load?.counts.calls ?? 0), 0)
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
