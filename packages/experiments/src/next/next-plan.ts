import { stringify } from 'yaml'
import { durationText } from '#base'
import type { Policy } from '#rules'
import { stagesTo } from '../experiment/stage-shares.ts'
import type { Rank } from './rank.ts'

/** The target and the sidecar of a plan. */
export interface PlanSetting {
  readonly url: string
  readonly environment: string | null | undefined
  /** More of the `target` of the plan, where it is known; its `url` is used instead. */
  readonly target?: object | undefined
  /** The `sidecar` of the plan. */
  readonly sidecar: object
  readonly limits?: Partial<Policy> | undefined
}

/** The first and the last stage in percent for calls that only become slow, and for calls that fail. */
const SLOW = [10, 50] as const
const FAILING = [5, 25] as const
const MAX_NAME = 40
const HOLD_MS = 30_000
const LEAST_HOLD_MS = 1000
/** The longest delay of the question `slow`. */
const LONGEST_MS = 3000

/** Writes a plan that asks the question of a rank, with the reasons as comments. */
export function planFor({ tool, question, reasons }: Rank, setting: PlanSetting): string {
  const { url, environment, target, sidecar, limits = {} } = setting
  const name = `${question.id}-${tool}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  const { maxRate = 10, firstStage = 100, maxPercent = 100, maxDuration = Infinity } = limits
  const [first, last] = question.fails ? FAILING : SLOW
  const stages = stagesTo(Math.min(first, firstStage, maxPercent), Math.min(last, maxPercent))
  const hold = Math.max(
    LEAST_HOLD_MS,
    Math.min(HOLD_MS, Math.floor(maxDuration / stages.length / 1000) * 1000),
  )
  const plan = {
    name: name.slice(0, MAX_NAME).replace(/-$/, ''),
    target: { url, ...(environment && { environment }), ...target },
    sidecar,
    steadyState: { errors: '1%', for: '20s', within: '2m' },
    rules: [{ name: question.id, match: { tool }, faults: [question.write] }],
    stages: stages.map((share) => `${share}%`),
    hold: durationText(hold),
    load: { clients: 10, rate: Math.min(10, maxRate), tools: [tool], retries: 2, timeout: '5s' },
    abortOn: { errors: { limit: '20%', for: '10s' } },
    slo: {
      success: '95%',
      ...(!question.fails && { p95: `${LONGEST_MS + 2000}ms` }),
      ...(question.ofSources && { 'falsified-used': 0 }),
    },
  }
  const about = [question.asks, ...reasons].map((line) => `# ${line}\n`).join('')
  return `${about}${stringify(plan)}`
}
