import { matchesGlob, MAX_GLOB } from '../../base/glob.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { readDuration } from '../../base/units.ts'
import type { CallLine } from '../../telemetry/call-line.ts'
import { ORIGINS, OUTCOMES } from '../../mcp/call.ts'
import { isError } from '../../telemetry/outcome-index.ts'
import { tapQuery } from './call-schemas.ts'
import type { VerdictLine } from './api.ts'
import { agentsQuery, verdictQuery } from './task-schemas.ts'
import { VERDICT_NAMES } from '../../agents/verdicts.ts'
import { readInstant } from '../../base/instant.ts'

/** Returns true for a line that passes. */
export type LineFilter<Line> = (line: Line) => boolean
export type CallFilter = LineFilter<CallLine>

/** Reports a filter that cannot be read. */
export class CallFilterError extends Error {
  override readonly name = 'CallFilterError'
}

const KEYS = Object.keys(tapQuery.properties)
const MAX_VALUES = 100

/** Reads the filters of a query. Throws a `CallFilterError`. */
export function parseCallFilter(query: URLSearchParams): CallFilter {
  return parseFilter(query, KEYS, [
    globs<CallLine>(query, 'tool', ({ tool }) => [tool]),
    globs(query, 'method', ({ method }) => [method]),
    words(query, 'outcome', OUTCOMES, ({ outcome }) => outcome),
    words(query, 'origin', ORIGINS, ({ origin }) => origin),
    globs(query, 'rule', ({ faults = [] }) => faults.map(({ rule }) => rule)),
    globs(query, 'session', ({ session }) => [session], '*'),
    notable(query),
    slower(query),
  ])
}

/** The fields of a verdict that filters read. */
export type Filtered = Pick<VerdictLine, 'task' | 'tool' | 'faults' | 'verdict'>

/** Reads the filters of a query. Throws a `CallFilterError`. */
export function parseVerdictFilter(query: URLSearchParams): LineFilter<Filtered> {
  return parseFilter(query, Object.keys(verdictQuery.properties), [
    globs(query, 'task', ({ task }) => [task]),
    globs(query, 'tool', ({ tool }) => [tool]),
    globs(query, 'fault', ({ faults }) => faults),
    words(query, 'verdict', VERDICT_NAMES, ({ verdict }) => verdict),
  ])
}

type OfClient = { readonly client?: string | undefined }

/** Reads the filters of a query. Throws a `CallFilterError`. */
export function parseAgentsFilter(query: URLSearchParams) {
  const passes = parseFilter<OfClient>(query, Object.keys(agentsQuery.properties), [
    globs(query, 'client', ({ client }) => [client ?? '']),
    words(query, 'all', ['true', 'false'], () => query.get('all') ?? ''),
  ])
  const given = query.get('since')
  return { passes, since: given === null ? undefined : sinceOf(given) }
}

function sinceOf(given: string): number {
  const ago = readDuration(given)
  const since = ago === undefined ? readInstant(given) : Date.now() - ago
  if (since !== undefined) return since
  throw new CallFilterError(
    `invalid since ${quoted(given)}; use a duration, such as 10m, or a time, such as 2026-11-29T05:00:00Z`,
  )
}

/** Joins the filters of a query with these keys. Throws a `CallFilterError`. */
function parseFilter<Line>(
  query: URLSearchParams,
  keys: readonly string[],
  filters: readonly (LineFilter<Line> | undefined)[],
): LineFilter<Line> {
  const names = [...query.keys()]
  const unknown = names.find((name) => !keys.includes(name))
  if (unknown !== undefined) {
    throw new CallFilterError(`unknown filter ${quoted(unknown)}; use ${keys.join(', ')}`)
  }
  if (names.length > MAX_VALUES) throw new CallFilterError(`at most ${MAX_VALUES} filters`)
  const tests = filters.filter((test) => test !== undefined)
  return (line) => tests.every((test) => test(line))
}

/** Passes lines of which a value matches one of the globs. */
function globs<Line>(
  query: URLSearchParams,
  key: string,
  of: (line: Line) => readonly (string | undefined)[],
  suffix = '',
): LineFilter<Line> | undefined {
  const wanted = query.getAll(key).map((value) => `${value}${suffix}`)
  if (wanted.length === 0) return undefined
  if (wanted.some((glob) => glob.length > MAX_GLOB)) {
    throw new CallFilterError(`${key} may have at most ${MAX_GLOB} characters`)
  }
  return (call) =>
    of(call).some((value) => value !== undefined && wanted.some((glob) => matchesGlob(glob, value)))
}

/** Passes lines with one of the wanted words. */
function words<Line>(
  query: URLSearchParams,
  key: string,
  known: readonly string[],
  of: (line: Line) => string,
): LineFilter<Line> | undefined {
  const wanted = query.getAll(key)
  if (wanted.length === 0) return undefined
  const wrong = wanted.find((value) => !known.includes(value))
  if (wrong !== undefined) {
    throw new CallFilterError(`unknown ${key} ${quoted(wrong)}; use ${known.join(', ')}`)
  }
  return (call) => wanted.includes(of(call))
}

/** Passes errors, calls with faults, or both. */
function notable(query: URLSearchParams): CallFilter | undefined {
  const [errors, faults] = ['errors', 'faults'].map((key) => {
    const value = query.get(key) ?? 'false'
    if (value === 'true' || value === 'false') return value === 'true'
    throw new CallFilterError(`${key} must be true or false; got ${quoted(value)}`)
  })
  if (errors !== true && faults !== true) return undefined
  return (call) =>
    (errors === true && isError(call.outcome)) || (faults === true && call.faults !== undefined)
}

function slower(query: URLSearchParams): CallFilter | undefined {
  const given = query.get('slowerThan')
  if (given === null) return undefined
  const ms = readDuration(given)
  if (ms === undefined) {
    throw new CallFilterError(
      `slowerThan must be a duration such as 250ms or 2s; got ${quoted(given)}`,
    )
  }
  return ({ durationMs = 0 }) => durationMs > ms
}
