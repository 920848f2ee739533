import { createHash } from 'node:crypto'
import { readPercent } from '../../base/units.ts'
import { readInstant } from '../../base/instant.ts'
import type { Plan, Stage } from './plan.ts'
import type { WrittenRule } from './rules-source.ts'

/** The prefix of the rules that mark a running experiment. */
export const MARKER = 'squall-experiment.'

/** Rules as the sidecar is to read them. */
export interface ArmedText {
  readonly text: string
  /** SHA-256 of its bytes: what the sidecar tells once they are active. */
  readonly digest: string
}

/**
 * The text of the rules for a stage; without a stage only the marker, which does nothing. Every rule
 * ends by itself at `until`, in milliseconds since the epoch by the clock of the sidecar.
 */
export function armedText(
  plan: Pick<Plan, 'rules' | 'seed' | 'by'>,
  id: string,
  stage: Stage | undefined,
  until: number,
): ArmedText {
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
    ...(source?.maxActive === undefined ? {} : { maxActive: source.maxActive }),
    rules: [marker(id, end), ...rules],
  }
  const text = `# The experiment ${id} runs, and puts back what was here when it is over.\n# Should it die, these rules end by themselves at ${end}.\n${JSON.stringify(file, null, 2)}\n`
  return { text, digest: digestOf(text) }
}

/** The digest of a file's bytes, as a sidecar makes it. */
export function digestOf(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The names of the rules of a plan. */
export function ruleNames({ rules }: Pick<Plan, 'rules'>): readonly string[] {
  return rules?.rules.map(({ name }) => name) ?? []
}

function marker(id: string, until: string): object {
  return {
    name: `${MARKER}${id}`,
    match: { tool: MARKER },
    percent: 0,
    dryRun: true,
    until,
    faults: [{ delay: { fixed: '1ms' } }],
  }
}

/** A rule for a share of what it would hit by itself. */
function narrowed(rule: WrittenRule, by: Plan['by'], share: number, until: number): object {
  const { until: own, ...rest } = rule
  const end = typeof own === 'string' ? Math.min(until, readInstant(own) ?? until) : until
  const timed = { until: new Date(end).toISOString() }
  if (by === 'pods') return { ...rest, ...timed, pods: share }
  const { probability, percent, ...others } = rest
  const given = typeof probability === 'number' ? probability * 100 : percentOf(percent)
  return { ...others, ...timed, percent: Math.round(given * share * 1e4) / 1e6 }
}

function percentOf(written: unknown): number {
  if (typeof written === 'number') return written
  return typeof written === 'string' ? (readPercent(written) ?? 100) : 100
}
