import type { LoadResilience } from '../../load/load-options.ts'
import { pythonRandom } from './python-random.ts'

/** The share of calls that fail in the demo of mcp-chaos. */
export const ERROR_RATE = 0.02
export const CALLS_PER_TASK = 8

/** An agent in the demo of mcp-chaos, by the options of a load. */
export interface Agent {
  readonly key: 'naive' | 'resilient'
  readonly name: string
  readonly resilience: Omit<LoadResilience, 'skipLate'>
}

/** A machine that stands still for a moment must not add failures to those that are simulated. */
const TIMEOUT_MS = 30_000

export const AGENTS: readonly Agent[] = [
  {
    key: 'naive',
    name: 'no resilience',
    resilience: { retries: 0, degrade: 0, timeoutMs: TIMEOUT_MS },
  },
  {
    key: 'resilient',
    name: 'with resilience',
    resilience: { retries: 2, degrade: 2, breaker: 0.5, timeoutMs: TIMEOUT_MS },
  },
]

/** The counts that the figures of the table are computed from. */
export interface AgentCounts {
  readonly tasks: number
  readonly failedTasks: number
  readonly calls: number
  readonly failedCalls: number
  readonly retries: number
}

export interface Simulated extends AgentCounts {
  /** The numbers of the attempts that fail, from 1. */
  readonly failing: readonly number[]
}

/**
 * Computes what mcp-chaos simulates for an agent: each attempt takes the next random number, and
 * fails below the error rate. Leaves out the circuit breaker, which opens when half of the calls
 * of a tool fail after two retries.
 */
export function simulate(seed: number, tasks: number, { resilience }: Agent): Simulated {
  const random = pythonRandom(seed)
  const failing: number[] = []
  const counts = { tasks, failedTasks: 0, calls: 0, failedCalls: 0, retries: 0 }
  let attempts = 0
  const fails = (): boolean => {
    attempts++
    const failed = random() < ERROR_RATE
    if (failed) failing.push(attempts)
    return failed
  }
  for (let task = 0; task < tasks; task++) {
    let failed = false
    for (let call = 0; call < CALLS_PER_TASK; call++) {
      let left = resilience.retries
      let isFailed = fails()
      for (; isFailed && left > 0; left--) isFailed = fails()
      counts.calls++
      counts.retries += resilience.retries - left
      counts.failedCalls += Number(isFailed)
      failed ||= isFailed && call < CALLS_PER_TASK - resilience.degrade
    }
    counts.failedTasks += Number(failed)
  }
  return { ...counts, failing }
}
