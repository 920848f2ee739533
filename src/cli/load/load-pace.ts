import { quoted } from '../../base/text/foreign-text.ts'
import type { LoadPace, LoadResilience } from '../../lab/load/load-options.ts'
import type { FlagValues, Given } from '../flags/flag-values.ts'
import { parseCount, parseDuration, parsePercent } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import type { LoadFlag } from './load-flags.ts'

type Flags = FlagValues<LoadFlag>

const MAX_MS = 7 * 86_400_000
const DEFAULT_DURATION_MS = 10_000

/** Parses the options for the amount of load and its timing. */
export function parsePace(flags: Flags): LoadPace {
  const rate = rateOf(flags)
  const tasks = optionalCount(flags, 'tasks', 1_000_000_000)
  const given = optionalDuration(flags, 'duration')
  const durationMs = given ?? (tasks === undefined ? DEFAULT_DURATION_MS : undefined)
  return {
    clients: count(flags, 'clients', 1, 100_000),
    rampMs: parseDuration(flags.required('ramp'), { min: 0, max: MAX_MS }),
    gracefulStopMs: parseDuration(flags.required('graceful-stop'), { min: 0, max: MAX_MS }),
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
  const deadlineMs = optionalDuration(flags, 'deadline')
  const degrade = count(flags, 'degrade', 0, 1000)
  const skipLate = flags.switch('skip-late')
  if (degrade >= fanOut && degrade > 0) {
    throw new UsageError(
      'BAD_COMBINATION',
      `--degrade ${degrade} leaves nothing of a task of ${fanOut}`,
      'use a --fan-out that is larger',
    )
  }
  if (skipLate && deadlineMs === undefined) {
    throw new UsageError('BAD_COMBINATION', '--skip-late goes with --deadline', 'add --deadline 2s')
  }
  return {
    retries: count(flags, 'retries', 0, 10),
    timeoutMs: parseDuration(flags.required('timeout'), { min: 1, max: 3_600_000 }),
    degrade,
    skipLate,
    ...(budget !== undefined && {
      retryBudget: parsePercent(budget, { min: 0, max: 100 }) / 100,
    }),
    ...(breaker !== undefined && { breaker: shareOf(breaker) }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  }
}

function rateOf(flags: Flags): number | undefined {
  const given = flags.optional('rate')
  if (given === undefined) return undefined
  const match = /^(\d{1,7}(?:\.\d{1,3})?)(?:\/(s|m))?$/.exec(given.text)
  const rate = match === null ? 0 : Number(match[1]) / (match[2] === 'm' ? 60 : 1)
  if (rate > 0 && rate <= 1_000_000) return rate
  throw new UsageError(
    'BAD_VALUE',
    `${given.source}: ${quoted(given.text)} is no rate`,
    'write calls per second or per minute: 200/s or 30/m',
  )
}

function shareOf(given: Given): number {
  const { text, source } = given
  if (text.endsWith('%')) return parsePercent(given, { min: 1, max: 100 }) / 100
  const share = /^(0?\.\d{1,6}|1(\.0{1,6})?|0\.\d{1,6})$/.test(text) ? Number(text) : 0
  if (share > 0) return share
  throw new UsageError(
    'BAD_VALUE',
    `${source}: ${quoted(text)} is no share`,
    'write a number above 0 and up to 1, such as 0.5',
  )
}

function count(flags: Flags, name: LoadFlag, min: number, max: number): number {
  return parseCount(flags.required(name), { min, max })
}

function optionalCount(flags: Flags, name: LoadFlag, max: number): number | undefined {
  const given = flags.optional(name)
  return given === undefined ? undefined : parseCount(given, { min: 1, max })
}

function optionalDuration(flags: Flags, name: LoadFlag): number | undefined {
  const given = flags.optional(name)
  if (given === undefined) return undefined
  return parseDuration(given, { min: 1, max: MAX_MS })
}
