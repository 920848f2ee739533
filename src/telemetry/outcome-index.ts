import type { Origin, Outcome } from '../mcp/call.ts'

const OUTCOME: Readonly<Record<Outcome, number>> = {
  ok: 0,
  tool_error: 1,
  rpc_error: 2,
  http_error: 3,
  reset: 4,
  timeout: 5,
  cancelled: 6,
  incomplete: 7,
  abandoned: 8,
}
/** The index of each origin in arrays of counters. */
export const ORIGIN: Readonly<Record<Origin, number>> = {
  real: 0,
  injected: 1,
  squall: 2,
  injected_elsewhere: 3,
}
/** Origins by index. */
export const ORIGINS = Object.keys(ORIGIN) as readonly Origin[]
/** Returns a count of 0 for each origin. */
export const noCounts = () => ({ real: 0, injected: 0, squall: 0, injected_elsewhere: 0 })
/** Outcomes by index. */
export const OUTCOMES = Object.keys(OUTCOME) as readonly Outcome[]
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
