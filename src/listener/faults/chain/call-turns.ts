import type { Plan } from '../../../rules/select/plan.ts'
import { FaultTurn, type TurnHost } from './fault-turn.ts'

/** True for a fault that takes the response as HTTP. */
export function makesOutput({ fault }: FaultTurn): boolean {
  return fault.onOutput !== undefined
}

/** True for a fault that wants to see the messages of the response. */
export function hearsResponse({ fault }: FaultTurn): boolean {
  return fault.beforeResponse !== undefined || fault.onResponse !== undefined
}

/** Makes the turns of a plan's faults, in order; `before` are those whose place they take. */
export function turnsOf(
  plan: Plan | undefined,
  host: TurnHost,
  before: readonly FaultTurn[] = [],
): readonly FaultTurn[] {
  const turns: FaultTurn[] = []
  for (const hit of plan?.hits ?? []) {
    if (hit.dryRun) continue
    for (const index of hit.rule.faults.keys()) {
      turns.push(new FaultTurn(hit, index, host, before[turns.length]?.acted))
    }
  }
  return turns
}
