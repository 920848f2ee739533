import { createHash } from 'node:crypto'
import { readPercent } from '../../base/units.ts'
import { readInstant } from '../../base/instant.ts'
import type { Plan, Stage } from './plan.ts'
import type { WrittenRule } from './plan.ts'

export const MARKER = 'squall-experiment.'

/** The content of the rules file. */
export interface ArmedText {
  readonly text: string
  /** SHA-256 of the bytes, which the sidecar reports when the rules are active. */
  readonly digest: string
}

/**
 * Returns the rules of a stage; without a stage only the marker, which injects nothing. Every rule
 * expires at `until`, in milliseconds since the epoch by the clock of the sidecar.
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

/** Returns the digest that the sidecar computes from the file. */
export function digestOf(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}

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

/** Reduces the rate of a rule to a share. */
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
