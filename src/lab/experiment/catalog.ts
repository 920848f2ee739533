import { DEPENDENCY_FAILURE } from './catalog/dependency-failure.ts'
import { LATENCY } from './catalog/latency.ts'
import { POOL_EXHAUSTION } from './catalog/pool-exhaustion.ts'
import { PROCESS_KILL } from './catalog/process-kill.ts'
import { RATE_LIMIT } from './catalog/rate-limit.ts'
import { RETRY_STORM } from './catalog/retry-storm.ts'
import { SCHEMA_DRIFT } from './catalog/schema-drift.ts'
import { SESSION_LOSS } from './catalog/session-loss.ts'

/** A plan that can be run once the places in it are right. */
export interface ReadyPlan {
  readonly name: string
  readonly about: string
  readonly text: string
}

/** The ready plans. */
export const CATALOG: readonly ReadyPlan[] = [
  { name: 'latency', about: 'a tool becomes slow', text: LATENCY },
  { name: 'dependency-failure', about: 'what a tool depends on fails', text: DEPENDENCY_FAILURE },
  { name: 'pool-exhaustion', about: 'calls hang and hold what they have', text: POOL_EXHAUSTION },
  { name: 'process-kill', about: 'the server is killed', text: PROCESS_KILL },
  { name: 'session-loss', about: 'the server forgets sessions', text: SESSION_LOSS },
  { name: 'schema-drift', about: 'results change their shape', text: SCHEMA_DRIFT },
  { name: 'rate-limit', about: 'a quota is used up', text: RATE_LIMIT },
  { name: 'retry-storm', about: 'failures are retried on every layer', text: RETRY_STORM },
]
