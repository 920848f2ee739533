import { endpointText } from '#admin-api'
import { type Shard, CLIENT_KINDS } from '../load/results/result.ts'
import {
  asGiven,
  asText,
  type Context,
  type Environment,
  type FlagInput,
  group,
  invalidCombination,
  invalidOption,
  invalidValue,
  many,
  one,
  oneOf,
  operation,
  parseEndpoints,
  parseHosts,
  parseListen,
  productionFlags,
  productionOf,
  readTokenFlag,
  readTokenOf,
  type RequestOf,
  toggle,
  type Values,
} from '#cli'
import { headerFlags, targetFlag } from '../cli/server-flags.ts'
import { PACE_FLAGS, paceOf, resilienceOf } from './pace-flags.ts'

const TARGET = 'Target:'
const CHECKS = 'Checks:'
const SHARD_FORM = 'use index/count, such as 0/4, or /4 where JOB_COMPLETION_INDEX is set'
const MAX_SHARDS = 10_000

const LOAD_FLAGS = {
  ...targetFlag(TARGET),
  ...group(TARGET, {
    tools: many(
      'names',
      'exact names of tools to call, separated by commas, with arguments generated from their schemas (default without --calls: all tools with readOnlyHint: true)',
      parseTools,
    ),
    yes: toggle(
      'also call tools that do not declare whether they are read-only; tools declared as writing or destructive must be named with --tools or --calls',
    ),
    calls: one('file', 'YAML file of calls with their arguments, weights and expectations', asText),
    clientKind: one(
      'kind',
      'client to use: lean for a high call rate, sdk-v1 or sdk-v2 for the behaviour of the official SDKs',
      oneOf(CLIENT_KINDS),
      { default: 'lean' },
    ),
    protocolVersion: one(
      'date',
      'protocol version to request (default: the newest of the server)',
      parseProtocolVersion,
    ),
  }),
  ...headerFlags(TARGET),
  ...productionFlags(TARGET),
  ...PACE_FLAGS,
  ...group(CHECKS, {
    expect: many(
      'condition',
      'condition for a usable result: tool:/pointer, or with =, !=, >, >=, <, <= or =~ and a value',
      asGiven<readonly FlagInput[]>,
    ),
    sidecar: many(
      'address',
      'admin port of a sidecar, as host:port; the sidecar reports what agents did, and the origin of errors without a marker (resets, hangs, rules with marker: false); repeatable',
      parseSidecars,
    ),
  }),
  ...readTokenFlag(CHECKS),
  ...group(CHECKS, {
    recordBaseline: one(
      'file',
      'file in which to record the structure of results, in a run without faults',
      asText,
    ),
    baseline: one(
      'file',
      'baseline file from --record-baseline; results that lack parts of the baseline count as unusable',
      asText,
    ),
    slo: many(
      'gate',
      'gate such as "p99<2s", "success>99%", "blast<5%" or "runaway<1%"; the exit code is 1 when a gate fails',
      asGiven<readonly FlagInput[]>,
    ),
  }),
  ...group('Output:', {
    json: toggle('print only the result, as JSON'),
    out: one('file', 'file to write the result to, as JSON', asText),
    report: one('file', 'file to write an HTML report to', asText),
    junit: one(
      'file',
      'file to write the gates to, as JUnit XML, which CI systems show as tests',
      asText,
    ),
    metrics: one(
      'address',
      'address at which Prometheus can scrape metrics of the load while it runs, such as 127.0.0.1:9464',
      parseListen,
    ),
    metricsHosts: many(
      'names',
      'additional host names that --metrics accepts; IP addresses, single-label names, *.localhost, *.svc, *.cluster.local and *.internal are always accepted',
      parseHosts,
    ),
  }),
}

export const LOAD = operation({
  name: 'load',
  examples: [
    'load --target http://localhost:8080/mcp --task-count 500 --fan-out 8',
    'load --target http://localhost:8080/mcp --rate 200/s --duration 60s --slo "p99<2s"',
    'load --target http://localhost:8080/mcp --task-count 500 --slo "blast<5%" --report report.html',
  ],
  page: 'docs/guides/load.md',
  description: 'call the tools of an MCP endpoint and measure the results',
  flags: LOAD_FLAGS,
  note: `
Exit code: 0 if every --slo passed, 1 if one failed or the load could not start, 2 for a usage
error, 130 if the load was interrupted.`,
  parse: loadRequestOf,
})

/** The options of `squall load`, before its files are read. */
export type LoadRequest = RequestOf<typeof LOAD>

/** Checks the flags of `squall load` together. Throws a `UsageError`. */
function loadRequestOf(flags: Values<typeof LOAD_FLAGS>, { env }: Context) {
  if (flags.sidecar.length > 0 && flags.clientKind !== 'lean') {
    throw invalidCombination(
      '--sidecar requires --client-kind lean',
      'use --client-kind lean, or remove --sidecar',
    )
  }
  const shard = flags.shard && parseShard(flags.shard, env)
  // A shard runs at least one task, and needs a client or an in-flight call for it.
  const [flag, parallel] =
    flags.rate === undefined ? ['--clients', flags.clients] : ['--max-in-flight', flags.maxInFlight]
  for (const [name, whole = Infinity] of [
    ['--task-count', flags.taskCount],
    [flag, parallel],
  ] as const) {
    if (shard === undefined || whole >= shard.count) continue
    const wrong = `${name} ${whole} cannot be split into ${shard.count} shards`
    throw invalidCombination(wrong, `use at most ${whole} shards, or a larger ${name}`)
  }
  const readToken =
    flags.sidecar.length > 0 ? readTokenOf(flags.adminReadTokenFile, env) : undefined
  return {
    ...flags,
    production: productionOf(flags, env),
    sidecars: flags.sidecar.map((url) => ({ url, readToken })),
    pace: paceOf(flags),
    resilience: resilienceOf(flags),
    shard,
  }
}

function parseTools(given: readonly FlagInput[]): readonly string[] {
  const names = given.flatMap(({ text }) => text.split(',')).map((name) => name.trim())
  return names.filter((name) => name !== '')
}

function parseSidecars(given: readonly FlagInput[]): readonly URL[] {
  if (given.length === 0) return []
  const endpoints = parseEndpoints(given.map(({ text }) => text))
  return endpoints.map((each) => new URL(`http://${endpointText(each)}`))
}

function parseProtocolVersion(given: FlagInput): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(given.text)) return given.text
  throw invalidValue(given, 'is not a valid protocol version', 'use a date, such as 2025-11-25')
}

/** Parses the part of the load to run. `/4` takes the index of a pod of an indexed Job. */
function parseShard({ text, source }: FlagInput, env: Environment): Shard {
  const match = /^(\d{0,5})\/(\d{1,5})$/.exec(text)
  const index = match?.[1] === '' ? (env['JOB_COMPLETION_INDEX'] ?? '') : match?.[1]
  if (match === null || index === undefined || !/^\d{1,5}$/.test(index)) {
    throw invalidValue({ text, source }, 'is not a valid shard', SHARD_FORM)
  }
  const shard = { index: Number(index), count: Number(match[2]) }
  if (shard.count >= 1 && shard.count <= MAX_SHARDS && shard.index < shard.count) return shard
  throw invalidOption(
    source,
    `the index ${shard.index} is out of range for ${shard.count} shards`,
    'use an index from 0 to the count minus 1',
  )
}
