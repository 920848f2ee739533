import { durationText, plain, shownUrl } from '#base'
import type { Plan } from '../experiment/plan.ts'
import { faultsOf } from '../policy/policy-rejections.ts'

/** The largest effect that a plan can have. */
export interface Blast {
  /** In percent of the calls, or of the pods. */
  readonly maxPercent: number
  readonly durationMs: number
  /** The calls that the load makes in all stages; null without a rate. */
  readonly calls: number | null
  /** The calls that may be sampled in all stages; null without a rate. */
  readonly sampled: number | null
}

/** Predicts the largest effect of a plan. */
export function blastOf({ file, stages, by }: Plan): Blast {
  const { rate } = file.load
  const shares = stages.map(({ share = 0 }) => share)
  const perStage = rate === undefined ? null : (rate * file.hold) / 1000
  const isCounted = perStage !== null && by === 'calls'
  const sampled = shares.reduce((sum, share) => sum + ((perStage ?? 0) * share) / 100, 0)
  return {
    maxPercent: Math.max(...shares),
    durationMs: stages.length * file.hold,
    calls: perStage === null ? null : Math.ceil(perStage * stages.length),
    sampled: isCounted ? Math.ceil(sampled) : null,
  }
}

/** Describes a plan to the person who approves it, one fact per line. */
export function summaryOf(plan: Plan): readonly string[] {
  const { file, stages, aborts, slo, digest, calls } = plan
  const { maxPercent, durationMs, sampled } = blastOf(plan)
  const tools = [...(file.load.tools ?? []), ...calls.map(({ tool }) => tool)]
  const gates = [...aborts, ...slo].map(({ text }) => text)
  const faults = [...new Set((plan.rules?.rules ?? []).flatMap(faultsOf))]
  return [
    `Experiment ${file.name} on ${shownUrl(plan.target)}, environment ${file.target.environment ?? 'unknown'}`,
    `Faults: ${faults.length === 0 ? 'none' : faults.join(', ')}; at most ${maxPercent}% of ${plan.by}${sampled === null ? '' : `, ${sampled} calls`}`,
    `Stages: ${stages.map(({ label }) => label).join(', ')}; ${durationText(durationMs)} in all`,
    `Calls: ${tools.length === 0 ? 'read-only tools' : tools.slice(0, 20).join(', ')}`,
    `Ends early when one of these limits fails: ${gates.join(', ')}`,
    `Digest: ${digest}`,
  ].map(plain)
}
