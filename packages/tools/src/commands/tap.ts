import { CallFilterError, parseCallFilter } from '#admin-api'
import {
  asText,
  type Context,
  count,
  type FlagInput,
  group,
  many,
  one,
  operation,
  parseEndpoints,
  readTokenFlag,
  readTokenOf,
  toggle,
  UsageError,
  type Values,
} from '#cli'

const FILTERS = group('Calls:', {
  tool: many('glob', 'show only calls of this tool; * and ? are wildcards; repeatable', texts),
  method: many('glob', 'show only calls of this method; repeatable', texts),
  outcome: many(
    'name',
    'show only calls with this outcome, such as tool_error or reset; repeatable',
    texts,
  ),
  origin: many(
    'name',
    'show only calls with an outcome of this origin: real, injected, squall or injected_elsewhere; repeatable',
    texts,
  ),
  rule: many('glob', 'show only calls with a fault from this rule; repeatable', texts),
  session: many(
    'hash',
    'show only calls of this session, given as a hash prefix; repeatable',
    texts,
  ),
  errors: toggle(
    'show only calls that failed; with --faults, also show calls that a fault affected',
  ),
  faults: toggle('show only calls that a fault affected'),
  slowerThan: one('duration', 'show only calls that took longer than this duration', asText),
})

export const TAP = operation({
  name: 'tap',
  examples: ['tap', 'tap --errors --tool "search_*"', 'tap --slower-than 500ms --json --limit 100'],
  page: 'docs/guides/tap.md',
  description: 'watch calls live as they complete, with client, latency and outcome',
  operands: { form: '[addresses...]', most: Infinity },
  flags: {
    ...FILTERS,
    ...followFlags('calls'),
  },
  note: `
Addresses are host:port or http://host:port of admin ports (default: 127.0.0.1:15390). The command shows the
calls that match all options, but never arguments, results or messages. Ctrl-C stops the command.`,
  // A variable for a filter would hide calls without a trace.
  fromEnvironment: false,
  parse: (flags, context) => followed(flags, context, parseCallFilter, 'tap'),
})

/** Declares the options of a command that follows lines of sidecars. */
export function followFlags(
  what: string,
  json = `print ${what} as lines of JSON`,
  limit = `exit after this number of ${what}`,
) {
  return {
    ...group('Output:', {
      json: toggle(json),
      limit: count(limit, { min: 1, max: 1_000_000_000 }),
    }),
    ...readTokenFlag('Reading:'),
  }
}

export type FollowRequest = ReturnType<typeof followed>

/**
 * Returns what to follow, with a query for filters, which `check` reads as the admin port does.
 * Throws a `UsageError`.
 */
export function followed(
  flags: Values<ReturnType<typeof followFlags>>,
  { env, operands }: Context,
  check: (query: URLSearchParams) => unknown,
  command: string,
) {
  const { json, limit = Infinity, adminReadTokenFile, ...others } = flags
  const filters: object = others
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(filters)) {
    const values = Array.isArray(value) ? (value as readonly string[]) : value ? [`${value}`] : []
    for (const each of values) query.append(key, each)
  }
  try {
    check(query)
  } catch (error) {
    if (!(error instanceof CallFilterError)) throw error
    throw new UsageError('INVALID_VALUE', error.message, `see squall ${command} --help`)
  }
  return {
    endpoints: parseEndpoints(operands),
    readToken: readTokenOf(adminReadTokenFile, env),
    query: query.toString(),
    limit,
    json,
    colours: process.stdout.isTTY && env['TERM'] !== 'dumb' && (env['NO_COLOR'] ?? '') === '',
  }
}

export function texts(all: readonly FlagInput[]): readonly string[] {
  return all.map(asText)
}
