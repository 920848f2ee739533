import type { LoadPace, LoadResilience } from '../../lab/load/load-options.ts'
import { flagGroup, type FlagValues, type Given } from '../flags/flag-values.ts'
import { parseCount, parseDuration, parsePercent } from '../flags/units.ts'
import { badCombination, badValue } from '../flags/usage-error.ts'

/** Declares the options of `squall load` for its pace and for the client's resilience. */
export const PACE_FLAGS = [
  ...flagGroup('Pace:', {
    clients: ['number', 'clients, each with its own session', { default: '10' }],
    rate: [
      'rate',
      'calls that arrive per second, such as 200/s, also while earlier calls are in flight; without it each client begins a task when its last task ends',
    ],
    duration: ['duration', 'how long tasks begin (default: 10s without --tasks)'],
    'graceful-stop': [
      'duration',
      'time for calls in flight to end after --duration or Ctrl-C; then they are cut, and counted separately',
      { default: '10s' },
    ],
    tasks: ['number', 'how many tasks to run'],
    ramp: [
      'duration',
      'time over which the rate, or the number of clients, grows to its target',
      { default: '0s' },
    ],
    'fan-out': [
      'number',
      'calls of one task, which fails when one of its calls fails',
      { default: '1' },
    ],
    sequential: 'send the calls of a task one after another',
    'max-in-flight': [
      'number',
      'most calls in flight with --rate; further arrivals are dropped and counted',
      { default: '10000' },
    ],
    connections: [
      'number',
      'most connections of the lean client; further calls wait for a connection, which counts as latency',
      { default: '500' },
    ],
    hold: ['number', 'streams to hold open beside the calls', { default: '0' }],
    seed: [
      'number',
      'seed for the choice of tools and arguments; the same seed repeats the choice',
      { default: '1' },
    ],
    shard: [
      'index/count',
      'run one part of the load, from 0/count; merge the results with squall report merge',
    ],
  }),
  ...flagGroup('Resilience of the client (none by default):', {
    timeout: ['duration', 'time for one attempt of a call', { default: '60s' }],
    retries: ['number', 'retries of a call after a failure that a retry may fix', { default: '0' }],
    'retry-budget': ['percent', 'most retries per hundred calls'],
    breaker: [
      'share',
      'share of failures, such as 0.5, at which calls of a tool are not sent for a second',
    ],
    degrade: ['number', 'number of optional calls at the end of a task', { default: '0' }],
    deadline: ['duration', 'time for a task; a call that ends later does not succeed'],
    'skip-late': 'do not send calls and retries that would miss the deadline',
  }),
]

type PaceFlag = (typeof PACE_FLAGS)[number]['name']
type Flags = FlagValues<PaceFlag>

const MAX_MS = 7 * 86_400_000
const DURATION = { min: 1, max: MAX_MS }
const DURATION_OR_NONE = { min: 0, max: MAX_MS }
const PERCENT = { min: 0, max: 100 }
const DEFAULT_DURATION_MS = 10_000

/** Parses the options for the amount of load and its timing. */
export function parsePace(flags: Flags): LoadPace {
  const rate = flags.parsed('rate', parseRate)
  const tasks = flags.parsed('tasks', (given) => parseCount(given, { min: 1, max: 1_000_000_000 }))
  const asked = flags.parsed('duration', (given) => parseDuration(given, DURATION))
  const durationMs = asked ?? (tasks === undefined ? DEFAULT_DURATION_MS : undefined)
  return {
    clients: count(flags, 'clients', 1, 100_000),
    rampMs: parseDuration(flags.required('ramp'), DURATION_OR_NONE),
    gracefulStopMs: parseDuration(flags.required('graceful-stop'), DURATION_OR_NONE),
    maxInFlight: count(flags, 'max-in-flight', 1, 100_000),
    hold: count(flags, 'hold', 0, 100_000),
    ...(rate !== undefined && { rate }),
    ...(durationMs !== undefined && { durationMs }),
    ...(tasks !== undefined && { tasks }),
  }
}

/** Parses the options for the client's handling of failures. */
export function parseResilience(flags: Flags, fanOut: number): LoadResilience {
  const budget = flags.optional('retry-budget')
  const breaker = flags.optional('breaker')
  const deadlineMs = flags.parsed('deadline', (given) => parseDuration(given, DURATION))
  const degrade = count(flags, 'degrade', 0, 1000)
  const skipLate = flags.switch('skip-late')
  if (degrade >= fanOut && degrade > 0) {
    throw badCombination(
      `--degrade ${degrade} makes all ${fanOut} calls of a task optional`,
      'use a larger --fan-out',
    )
  }
  if (skipLate && deadlineMs === undefined) {
    throw badCombination('--skip-late needs --deadline', 'add --deadline 2s')
  }
  return {
    retries: count(flags, 'retries', 0, 10),
    timeoutMs: parseDuration(flags.required('timeout'), { min: 1, max: 3_600_000 }),
    degrade,
    skipLate,
    ...(budget !== undefined && { retryBudget: parsePercent(budget, PERCENT) / 100 }),
    ...(breaker !== undefined && { breaker: parseShare(breaker) }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  }
}

function parseRate(given: Given): number {
  const match = /^(\d{1,7}(?:\.\d{1,3})?)(?:\/(s|m))?$/.exec(given.text)
  const rate = match === null ? 0 : Number(match[1]) / (match[2] === 'm' ? 60 : 1)
  if (rate > 0 && rate <= 1_000_000) return rate
  throw badValue(given, 'is not a rate', 'write calls per second or per minute: 200/s or 30/m')
}

function parseShare(given: Given): number {
  const { text, source } = given
  if (text.endsWith('%')) return parsePercent(given, { min: 1, max: 100 }) / 100
  const share = /^(0?\.\d{1,6}|1(\.0{1,6})?|0\.\d{1,6})$/.test(text) ? Number(text) : 0
  if (share > 0) return share
  throw badValue(
    { text, source },
    'is not a share',
    'write a number above 0 and up to 1, such as 0.5',
  )
}

function count(flags: Flags, name: PaceFlag, min: number, max: number): number {
  return parseCount(flags.required(name), { min, max })
}
