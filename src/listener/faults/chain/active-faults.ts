import type { Plan } from '../../../rules/select/plan.ts'
import { ActiveFault, type ActiveFaultOwner } from './active-fault.ts'

/** Returns true for a fault that acts on the response as HTTP. */
export function transformsOutput({ fault }: ActiveFault): boolean {
  return fault.onOutput !== undefined
}

/** Returns true for a fault that acts on the messages of the response. */
export function readsResponse({ fault }: ActiveFault): boolean {
  return fault.beforeResponse !== undefined || fault.onResponse !== undefined
}

/** Creates the active faults of a plan, in order; `before` are the faults that they replace. */
export function activeFaultsOf(
  plan: Plan | undefined,
  owner: ActiveFaultOwner,
  before: readonly ActiveFault[] = [],
): readonly ActiveFault[] {
  const faults: ActiveFault[] = []
  for (const matched of plan?.matched ?? []) {
    if (matched.dryRun) continue
    for (const index of matched.rule.faults.keys()) {
      faults.push(new ActiveFault(matched, index, owner, before[faults.length]?.acted))
    }
  }
  return faults
}
