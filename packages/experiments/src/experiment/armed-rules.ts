import { readInstant, readPercent, sha256Of } from '#base'
import type { Plan, Stage, WrittenRule } from './plan.ts'

/** Begins the name of the rule that claims a sidecar for one experiment. */
export const CLAIM_PREFIX = 'squall-experiment.'

/**
 * Returns the rules of a stage; without a stage only the claim, which injects nothing. Every rule
 * expires at `until`, in milliseconds since the epoch by the clock of the sidecar, and counts its
 * times from `appliedAt`.
 */
export function armedText(
  plan: Pick<Plan, 'rules' | 'seed' | 'by'>,
  id: string,
  stage: Stage | undefined,
  until: number,
  appliedAt?: number,
) {
  const { rules: source, by } = plan
  const share = stage?.share
  const end = new Date(until).toISOString()
  const rules =
    share === undefined || source === undefined
      ? []
      : source.rules.map((rule) => narrowed(rule, by, share, until))
  const file = {
    version: 1,
    seed: plan.seed,
    ...(appliedAt !== undefined && { appliedAt: new Date(appliedAt).toISOString() }),
    ...(source?.maxActive === undefined ? {} : { maxActive: source.maxActive }),
    rules: [claimRule(id, end), ...rules],
  }
  const text = `# Written by the experiment ${id}, which restores the previous content at its end.\n# If the experiment dies, these rules expire at ${end}.\n${JSON.stringify(file, null, 2)}\n`
  return { text, digest: sha256Of(text) }
}

function claimRule(id: string, until: string): object {
  return {
    name: `${CLAIM_PREFIX}${id}`,
    match: { tool: CLAIM_PREFIX },
    percent: 0,
    dryRun: true,
    until,
    faults: [{ delay: { fixed: '1ms' } }],
  }
}

/** Reduces the share of a rule to the share of the stage. */
function narrowed(rule: WrittenRule, by: Plan['by'], share: number, until: number): object {
  const { until: own, ...rest } = rule
  const end = typeof own === 'string' ? Math.min(until, readInstant(own) ?? until) : until
  const timed = { until: new Date(end).toISOString() }
  if (by === 'pods') return { ...rest, ...timed, pods: share }
  const { probability: _, ...others } = rest
  return { ...others, ...timed, percent: narrowedPercent(rule, by, share) }
}

/** Returns the percentage of calls that a rule samples in a stage, on the pods of the stage. */
export function narrowedPercent(
  { probability, percent }: WrittenRule,
  by: Plan['by'],
  share: number,
): number {
  const given = typeof probability === 'number' ? probability * 100 : percentOf(percent)
  return by === 'pods' ? given : Math.round(given * share * 1e4) / 1e6
}

function percentOf(written: unknown): number {
  if (typeof written === 'number') return written
  return typeof written === 'string' ? (readPercent(written) ?? 100) : 100
}
