/** The ways in which the demo's app fails a call. */
export const FAILURES = ['tool_error', 'rpc_error', 'http_error', 'reset'] as const

/** One way to fail. */
export type FailureKind = (typeof FAILURES)[number]

/** The outcome of a call to the demo's app. */
export type Ending = 'ok' | FailureKind

/** Fails one call in `oneIn`, going through `ways` in turn. */
export interface ToolScript {
  readonly oneIn: number
  readonly ways: readonly [FailureKind, ...FailureKind[]]
}

/** Which tools fail, how often and how: known beforehand, so that the count can be checked. */
const FAILURE_SCRIPT: Readonly<Record<string, ToolScript>> = {
  query_db: { oneIn: 25, ways: ['http_error', 'rpc_error'] },
  get_weather: { oneIn: 50, ways: ['rpc_error'] },
  summarize: { oneIn: 20, ways: ['tool_error', 'reset'] },
  book_flight: { oneIn: 8, ways: ['tool_error', 'rpc_error', 'http_error', 'reset'] },
}

/** Returns the planned outcome of the nth call of a tool, counted from 1. */
export function plannedEnding(tool: string, nth: number): Ending {
  const script = FAILURE_SCRIPT[tool]
  if (script === undefined || nth % script.oneIn !== 0) return 'ok'
  const turn = nth / script.oneIn - 1
  return script.ways[turn % script.ways.length] ?? script.ways[0]
}
