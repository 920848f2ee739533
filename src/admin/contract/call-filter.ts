import { matchesGlob, MAX_GLOB } from '../../base/glob.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { readDuration } from '../../base/units.ts'
import type { CallLine } from '../../telemetry/call-line.ts'
import { ORIGINS, OUTCOMES } from '../../mcp/call.ts'
import { isError } from '../../telemetry/outcome-index.ts'
import { tapQuery } from './call-schemas.ts'

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

/** Joins the filters of a query with these keys. Throws a `CallFilterError`. */
export function parseFilter<Line>(
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
export function globs<Line>(
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
export function words<Line>(
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
