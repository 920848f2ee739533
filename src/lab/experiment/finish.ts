import {
  EXPERIMENT_SCHEMA,
  type EndCode,
  type ExperimentResult,
  type PhaseResult,
  type Verdict,
} from './experiment-result.ts'
import type { EarlyEnd } from './phase.ts'
import { proposals } from './proposals.ts'
import type { After } from './after-phase.ts'
import type { Context, Stages } from './context.ts'

export interface Parts {
  readonly startedAt: Date
  readonly before: PhaseResult
  /** The read-only tools of the server. */
  readonly tools: readonly string[]
  readonly stages: Stages
  readonly restored: boolean
  readonly after: After | undefined
}

/** The end codes that are findings about the target, not about the experiment. */
const BREACHES: ReadonlySet<EndCode> = new Set<EndCode>([
  'ABORT_CONDITION',
  'SLO',
  'GUARD',
  'TARGET_LOST',
  'NOT_RESTARTED',
  'NOT_RECOVERED',
])

export function experimentResult(context: Context, parts: Parts): ExperimentResult {
  const { plan, id, version, again, past, steadiness } = context
  const { startedAt, before, tools, stages, restored, after } = parts
  const end = endOf(parts)
  const verdict: Verdict =
    end === undefined ? 'held' : BREACHES.has(end.code) ? 'breached' : 'inconclusive'
  const { detectMs, recoverMs } = steadiness.recovery(plan.file.steadyState.for)
  const { description } = plan.file
  return {
    schema: EXPERIMENT_SCHEMA,
    squall: version,
    id,
    ...(again !== undefined && { again }),
    name: plan.file.name,
    ...(description !== undefined && { description }),
    planDigest: plan.digest,
    rulesDigest: plan.rules?.digest ?? null,
    seed: plan.seed,
    target: `${plan.target.origin}${plan.target.pathname}`,
    environment: plan.file.target.environment ?? '',
    startedAt: startedAt.toISOString(),
    endedAt: new Date().toISOString(),
    verdict,
    stage: end?.stage ?? null,
    code: end?.code ?? null,
    why: end?.why ?? heldWords(context),
    breach: end?.breach ?? null,
    rollbackMs: stages.rollbackMs === null ? null : Math.round(stages.rollbackMs),
    restored,
    mttdMs: detectMs === undefined ? null : Math.round(detectMs),
    mttrMs: recoverMs === undefined ? null : Math.round(recoverMs),
    before,
    stages: stages.results,
    after: after?.phase ?? null,
    steadyAfter: after === undefined || after.end !== undefined ? null : after.steady,
    proposals: verdict === 'held' ? proposals(plan, past, tools) : [],
  }
}

function endOf({
  stages,
  after,
}: Parts): (EarlyEnd & { readonly stage: string | null }) | undefined {
  if (stages.end !== undefined) return stages.end
  if (after === undefined) {
    return { code: 'INTERRUPTED', why: 'it was ended by hand', stage: null }
  }
  if (after.end !== undefined) return { ...after.end, stage: null }
  if (after.steady) return undefined
  return {
    code: 'NOT_RECOVERED',
    why: 'all stages held, and the steady state did not come again in time',
    stage: null,
  }
}

function heldWords({ plan }: Context): string {
  const last = plan.stages.at(-1)!.label
  const stages = plan.stages.length === 1 ? `the stage ${last}` : `all stages up to ${last}`
  return `${stages} held, and the steady state after`
}
