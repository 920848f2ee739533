import { quoted, shownUrl } from '#base'
import {
  EXPERIMENT_SCHEMA,
  type EarlyEnd,
  type ExperimentResult,
  INTERRUPTED,
  isFailure,
  type PhaseResult,
  type Proposal,
  RULES_CHANGED,
  type Verdict,
} from './experiment-result.ts'
import type { runAfterPhase } from './steady-phases.ts'
import type { Context, Stages } from './context.ts'
import type { HistoryEntry } from './history.ts'
import { plannedTools, type Plan } from './plan.ts'
import { phaseGates } from './phase-gates.ts'
import { type Ended, summaryOf } from './summary.ts'
import { widest } from './stage-shares.ts'
import type { Timeline } from './timeline.ts'

export interface EndInput {
  readonly startedAt: Date
  readonly before: PhaseResult
  /** The read-only tools of the server. */
  readonly tools: readonly string[]
  readonly stages: Stages
  readonly restored: boolean
  readonly after: Awaited<ReturnType<typeof runAfterPhase>> | undefined
  readonly timeline: Timeline
}

export function experimentResult(context: Context, parts: EndInput): ExperimentResult {
  const ended = endedResult(context, parts)
  return { ...ended, ...summaryOf(ended) }
}

function endedResult(context: Context, parts: EndInput): Ended {
  const { plan, id, version, again, past, steadiness, alerts } = context
  const { startedAt, before, tools, stages, restored, after, timeline } = parts
  const end = endOf(parts)
  const verdict = verdictOf(end)
  const recovery = steadiness.recovery(plan.file.steadyState.for)
  const { injectedAt, detectedAt, recoveredAt } = recovery
  const noticed = alerts.results((at) => steadiness.sinceInjection(at))
  const phases = [before, ...stages.results, ...(after === undefined ? [] : [after.phase])]
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
    target: shownUrl(plan.target),
    server: phases.find(({ load }) => load !== undefined)?.load?.run.server ?? null,
    environment: plan.file.target.environment ?? '',
    startedAt: startedAt.toISOString(),
    endedAt: new Date().toISOString(),
    verdict,
    stage: end?.stage ?? null,
    code: end?.code ?? null,
    why: end?.why ?? passedText(context),
    failedGate: end?.failedGate ?? null,
    rollbackMs: stages.rollbackMs === null ? null : Math.round(stages.rollbackMs),
    restored,
    mttdMs: between(injectedAt, detectedAt),
    mttrMs: between(injectedAt, recoveredAt),
    alerts: noticed,
    before,
    stages: stages.results,
    after: after?.phase ?? null,
    steadyAfter: after === undefined || after.end !== undefined ? null : after.steady,
    proposals: verdict === 'passed' ? proposals(plan, past, tools) : [],
    gates: phaseGates(plan, before, stages.results),
    facts: timeline.facts({
      phases,
      detectedAt: verdict === 'passed' ? undefined : detectedAt,
      recoveredAt,
      rollbackMs: stages.rollbackMs,
      alerts: noticed,
    }),
  }
}

function between(start: number | undefined, end: number | undefined): number | null {
  return start === undefined || end === undefined ? null : Math.round(end - start)
}

function verdictOf(end: EarlyEnd | undefined): Verdict {
  if (end === undefined) return 'passed'
  if (end.code === 'UNNOTICED') return 'unnoticed'
  return isFailure(end) ? 'failed' : 'inconclusive'
}

function endOf({ stages, restored, after }: EndInput): Stages['end'] {
  if (stages.end !== undefined) return stages.end
  if (after === undefined) return { ...(restored ? INTERRUPTED : RULES_CHANGED), stage: null }
  if (after.end !== undefined) return { ...after.end, stage: null }
  if (!after.steady) {
    const why = 'all stages passed, but the target did not return to steady state in time'
    return { code: 'NOT_RECOVERED', why, stage: null }
  }
  if (after.unresolved.length === 0) return undefined
  const names = after.unresolved.map((name) => quoted(name)).join(', ')
  const why = `all stages passed, but after the rollback the alert ${names} did not resolve in time`
  return { code: 'NOT_RESOLVED', why, stage: null }
}

function passedText({ plan }: Context): string {
  const last = plan.stages.at(-1)!.label
  const stages = plan.stages.length === 1 ? `the stage ${last}` : `all stages up to ${last}`
  return `${stages} passed, and the target returned to steady state`
}

/** The number of consecutive passed runs before a proposal. */
const PASSES = 3

const MAX_TOOLS = 20

/**
 * Proposes wider experiments after three consecutive passed runs of the same plan, including this
 * one. Only tools of `readers`, the read-only tools, are proposed.
 */
export function proposals(
  plan: Plan,
  past: readonly HistoryEntry[],
  readers: readonly string[],
): readonly Proposal[] {
  const same = past.filter(({ planDigest }) => planDigest === plan.digest)
  const before = same.slice(1 - PASSES)
  if (before.length < PASSES - 1 || before.some(({ verdict }) => verdict !== 'passed')) return []
  return [...stageProposal(plan), ...toolsProposal(plan, readers), ...holdProposal(plan)]
}

function stageProposal({ file, by }: Plan): readonly Proposal[] {
  const key = by === 'pods' ? 'pods' : 'stages'
  const stages = file[key]
  const last = stages?.at(-1)
  if (stages === undefined || last === undefined || last >= 100) return []
  const next = Math.min(widest(last), last * 2)
  const written = [...stages, next].map((share) => `${share}%`).join(', ')
  const why = `${last}% passed ${PASSES} times in a row`
  return [{ kind: 'stage', why, write: `${key}: [${written}]` }]
}

function toolsProposal(plan: Plan, readers: readonly string[]): readonly Proposal[] {
  const called = plannedTools(plan)
  if (called.length === 0) return []
  const others = readers.filter((tool) => !called.includes(tool))
  if (others.length === 0) return []
  const all = [...(plan.file.load.tools ?? []), ...others].slice(0, MAX_TOOLS)
  const why = `the server has ${others.length} more read-only tools`
  return [{ kind: 'tools', why, write: `load: { tools: ${JSON.stringify(all)} }` }]
}

function holdProposal({ file }: Plan): readonly Proposal[] {
  const longer = file.hold * 2
  const written = longer % 60_000 === 0 ? `${longer / 60_000}m` : `${longer / 1000}s`
  const why = 'leaks, exhausted pools and expiries appear only in longer stages'
  return [{ kind: 'hold', why, write: `hold: ${written}` }]
}
