import type { Call } from '../mcp/call.ts'
import { jsonWeight } from '../base/json/json-weight.ts'
import type { Room } from '../base/room.ts'

/** Returns how much memory the arguments of calls take. */
export function weightOf(calls: readonly Call[]): number {
  let weight = 0
  for (const { params } of calls) weight += jsonWeight(params)
  return weight
}

/** Lets go of what only faults ask for: an open call may be remembered for long. */
export function letGoOfParams(calls: readonly Call[], weight: number, memory: Room): void {
  for (const call of calls) call.params = undefined
  memory.give(weight)
}
