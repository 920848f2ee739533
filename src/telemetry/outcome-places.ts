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
/** The position of each origin in arrays of counters. */
export const ORIGIN: Readonly<Record<Origin, number>> = { upstream: 0, injected: 1, squall: 2 }
/** Origins by position. */
export const ORIGINS = Object.keys(ORIGIN) as readonly Origin[]
const OUTCOMES = Object.keys(OUTCOME) as readonly Outcome[]
// A client that gives a call up and says so is no error of anybody's.
const NO_ERROR = new Set<Outcome>(['ok', 'cancelled'])

/** One way for a call to end: a position in arrays of counters. */
export interface End {
  readonly outcome: Outcome
  readonly origin: Origin
  readonly isError: boolean
}

/** All ways for a call to end, by position. */
export const ENDS: readonly End[] = ORIGINS.flatMap((origin) =>
  OUTCOMES.map((outcome) => ({ outcome, origin, isError: !NO_ERROR.has(outcome) })),
)

/** Where a call that ended so is counted. */
export function endPlace(outcome: Outcome, origin: Origin): number {
  return ORIGIN[origin] * OUTCOMES.length + OUTCOME[outcome]
}
