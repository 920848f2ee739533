import { type Origin, ORIGINS, type Outcome, OUTCOMES } from '../mcp/call.ts'

const OUTCOME = indexes(OUTCOMES)
/** The index of each origin in arrays of counters. */
export const ORIGIN = indexes(ORIGINS)
/** Returns a count of 0 for each origin. */
export const noCounts = () => ({ real: 0, injected: 0, squall: 0, injected_elsewhere: 0 })
const RESULTS = new Set<Outcome>(['ok', 'tool_error'])
// A cancelled call is not an error of either side.
const NO_ERROR = new Set<Outcome>(['ok', 'cancelled'])

/** Returns true for a call that did not end well. */
export function isError(outcome: Outcome): boolean {
  return !NO_ERROR.has(outcome)
}

/** Describes one index in arrays of counters: an outcome with its origin. */
export interface End {
  readonly outcome: Outcome
  readonly origin: Origin
  readonly isError: boolean
  /** True when a result ended the call. */
  readonly isResult: boolean
}

/** All pairs of outcome and origin, by index. */
export const ENDS: readonly End[] = ORIGINS.flatMap((origin) =>
  OUTCOMES.map((outcome) => ({
    outcome,
    origin,
    isError: isError(outcome),
    isResult: RESULTS.has(outcome),
  })),
)

export function endIndex(outcome: Outcome, origin: Origin): number {
  return ORIGIN[origin] * OUTCOMES.length + OUTCOME[outcome]
}

function indexes<Name extends string>(names: readonly Name[]): Readonly<Record<Name, number>> {
  return Object.fromEntries(names.map((name, index) => [name, index])) as Record<Name, number>
}
