import { readRate } from '#base'
import type { LoadPace, LoadResilience } from '../load/load-options.ts'
import {
  asGiven,
  count,
  duration,
  type FlagInput,
  group,
  invalidCombination,
  invalidValue,
  one,
  parsePercent,
  percent,
  toggle,
  type Values,
} from '#cli'

const MAX_MS = 7 * 86_400_000
const DURATION = { min: 1, max: MAX_MS }
const DURATION_OR_NONE = { min: 0, max: MAX_MS }
const DEFAULT_DURATION_MS = 10_000

/** Declares the options of `squall load` for its pace and for the client's resilience. */
export const PACE_FLAGS = {
  ...group('Pace:', {
    clients: count(
      'number of clients, each with its own session if the protocol version has sessions',
      { min: 1, max: 100_000 },
      '10',
    ),
    rate: one(
      'rate',
      'call arrival rate, such as 200/s, independent of in-flight calls; by default, each client starts a task when its previous task ends',
      parseRate,
    ),
    duration: duration(
      'duration of the load, during which tasks start (default: 10s without --task-count)',
      DURATION,
    ),
    drainTimeout: duration(
      'grace period for in-flight calls after --duration or Ctrl-C; the remaining calls are aborted and counted separately',
      DURATION_OR_NONE,
      '10s',
    ),
    taskCount: count('number of tasks to run', { min: 1, max: 1_000_000_000 }),
    ramp: duration('ramp-up time of the rate, or of the number of clients', DURATION_OR_NONE, '0s'),
    fanOut: count(
      'number of calls in a task; a task fails if any of its calls fails, except the optional calls of --degrade',
      { min: 1, max: 1000 },
      '1',
    ),
    sequential: toggle('send the calls of a task one after the other, not in parallel'),
    maxInFlight: count(
      'maximum number of in-flight calls with --rate; further arrivals are dropped and counted',
      { min: 1, max: 100_000 },
      '10000',
    ),
    connections: count(
      'maximum number of connections of the lean client; waiting for a connection counts as latency',
      { min: 1, max: 50_000 },
      '500',
    ),
    openStreams: count(
      'number of event streams to keep open during the load',
      { min: 0, max: 100_000 },
      '0',
    ),
    seed: count(
      'seed for choosing tools and arguments; the same seed makes the same choices',
      { min: 0, max: 2 ** 32 - 1 },
      '1',
    ),
    shard: one(
      'index/count',
      'run one shard of the load, such as 0/4 for the first of four; merge the results with squall load merge',
      asGiven<FlagInput>,
    ),
  }),
  ...group('Resilience of the client (none by default):', {
    timeout: duration('timeout per attempt', { min: 1, max: 3_600_000 }, '60s'),
    retries: count(
      'maximum number of retries of a call after a retryable failure',
      { min: 0, max: 10 },
      '0',
    ),
    retryBudget: percent(
      'retry budget: maximum number of retries, as a percentage of calls, plus ten',
      {
        min: 0,
        max: 100,
      },
    ),
    breaker: one(
      'share',
      "failure rate, such as 0.5, at which a tool's circuit breaker opens for a second",
      parseShare,
    ),
    degrade: count('number of optional calls at the end of a task', { min: 0, max: 1000 }, '0'),
    deadline: duration(
      'deadline of a task; calls that end later do not count as successful',
      DURATION,
    ),
    skipLate: toggle('do not send calls or retries that would miss the deadline'),
  }),
}

type PaceValues = Values<typeof PACE_FLAGS>

/** Returns the amount of load and its timing. */
export function paceOf({
  rate,
  taskCount: tasks,
  duration: asked,
  ...flags
}: PaceValues): LoadPace {
  return {
    clients: flags.clients,
    rampMs: flags.ramp,
    gracefulStopMs: flags.drainTimeout,
    maxInFlight: flags.maxInFlight,
    hold: flags.openStreams,
    rate,
    durationMs: asked ?? (tasks === undefined ? DEFAULT_DURATION_MS : undefined),
    tasks,
  }
}

/** Returns the client's handling of failures. Throws a `UsageError`. */
export function resilienceOf(flags: PaceValues): LoadResilience {
  const { retries, degrade, fanOut, skipLate, retryBudget, breaker, deadline: deadlineMs } = flags
  if (degrade >= fanOut && degrade > 0) {
    throw invalidCombination(
      `--degrade ${degrade} makes all ${fanOut} calls of a task optional`,
      'use a larger --fan-out',
    )
  }
  if (skipLate && deadlineMs === undefined) {
    throw invalidCombination('--skip-late needs --deadline', 'add --deadline 2s')
  }
  return {
    retries,
    timeoutMs: flags.timeout,
    degrade,
    skipLate,
    ...(retryBudget !== undefined && { retryBudget: retryBudget / 100 }),
    ...(breaker !== undefined && { breaker }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  }
}

function parseRate(given: FlagInput): number {
  const rate = readRate(given.text)
  if (rate !== undefined) return rate
  throw invalidValue(
    given,
    'is not a valid rate',
    'use calls per second or per minute: 200/s or 30/m',
  )
}

function parseShare(given: FlagInput): number {
  const { text, source } = given
  if (text.endsWith('%')) return parsePercent(given, { min: 1, max: 100 }) / 100
  const share = /^(0?\.\d{1,6}|1(\.0{1,6})?|0\.\d{1,6})$/.test(text) ? Number(text) : 0
  if (share > 0) return share
  throw invalidValue(
    { text, source },
    'is not a valid fraction',
    'use a number above 0 and up to 1, such as 0.5',
  )
}
