import { stringify } from 'yaml'
import type { Policy } from '../policy/policy-schema.ts'
import type { Rank } from './rank.ts'

/** The target and the sidecar of a plan. */
export interface PlanPlace {
  readonly url: string
  readonly environment: string | null | undefined
  readonly admin: string
  readonly rulesFile: string
  readonly policy?: Policy | undefined
}

/** The stages in percent for calls that only become slow, and for calls that fail. */
const WIDE_STAGES = [10, 25, 50]
const NARROW_STAGES = [5, 10, 25]
/** The longest delay of the question `slow`. */
const LONGEST_MS = 3000

/** Writes a plan that asks the question of a rank, with the reasons as comments. */
export function planFor({ tool, question, reasons }: Rank, place: PlanPlace): string {
  const { url, environment, admin, rulesFile, policy } = place
  const name = `${question.id}-${tool}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  const { maxRate = 10 } = policy ?? {}
  const plan = {
    name: name.slice(0, 60).replace(/-$/, ''),
    target: { url, ...(environment && { environment }) },
    sidecar: { admin, rulesFile },
    steadyState: { errors: '1%', for: '20s', within: '2m' },
    rules: [{ name: question.id, match: { tool }, faults: [question.write] }],
    stages: stagesOf(question.fails ? NARROW_STAGES : WIDE_STAGES, policy).map(
      (share) => `${share}%`,
    ),
    hold: '30s',
    load: { clients: 10, rate: Math.min(10, maxRate), tools: [tool], retries: 2, timeout: '5s' },
    abortOn: { errors: { limit: '20%', for: '10s' } },
    slo: { success: '95%', ...(!question.fails && { p95: `${LONGEST_MS + 2000}ms` }) },
  }
  const about = [question.asks, ...reasons].map((line) => `# ${line}\n`).join('')
  return `${about}${stringify(plan)}`
}

/** Returns stages that the policy allows. */
function stagesOf(usual: readonly number[], policy: Policy | undefined): readonly number[] {
  if (policy === undefined) return usual
  const first = Math.min(usual[0]!, policy.firstStage, policy.maxPercent)
  const later = usual.slice(1).map((share) => Math.min(share, policy.maxPercent))
  return [first, ...later.filter((share, i) => share > (later[i - 1] ?? first))]
}
