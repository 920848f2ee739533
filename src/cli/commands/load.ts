import type { SidecarAdmin } from '../../admin/api-client.ts'
import { type Shard, CLIENT_KINDS } from '../../lab/load/results/result.ts'
import { parseListen } from '../flags/address.ts'
import { urlNames } from '../../rules/guard/production-names.ts'
import {
  flagGroup,
  type Environment,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { parseProduction, productionFlags, refuseProduction } from '../flags/production.ts'
import { parseHosts, parseReadToken, readTokenFlag } from '../flags/admin-access.ts'
import { parseChoice, parseCount } from '../flags/units.ts'
import { badCombination, badOption, badValue, UsageError } from '../flags/usage-error.ts'
import { parseTarget } from '../flags/target.ts'
import { defineCommand } from '../flags/command.ts'
import { parseHeaders } from '../load/load-headers.ts'
import { PACE_FLAGS, parsePace, parseResilience } from '../load/pace-flags.ts'

const TARGET = 'Target:'
const CHECKS = 'Checks:'

const FLAGS = [
  ...flagGroup(TARGET, {
    target: ['url', 'URL of the MCP endpoint, such as http://localhost:3000/mcp'],
    tools: [
      'names',
      'exact names of tools to call, separated by commas, with arguments generated from their schemas (default without --calls: all tools with readOnlyHint)',
      { repeatable: true },
    ],
    yes: 'also call tools that do not declare whether they are read-only; tools that declare to write or destroy have to be named',
    calls: ['file', 'YAML file of calls with their arguments, weights and expectations'],
    client: [
      'kind',
      'lean for volume; sdk-v1 or sdk-v2 for the behaviour of real clients',
      { default: 'lean' },
    ],
    'protocol-version': ['date', 'protocol version to request (default: the newest of the server)'],
    header: [
      'name=value',
      'header of every request; neither shown nor in the result',
      { repeatable: true },
    ],
    'auth-token-file': ['file', 'file with a token that is sent as Authorization: Bearer'],
  }),
  ...productionFlags(TARGET),
  ...PACE_FLAGS,
  ...flagGroup(CHECKS, {
    expect: [
      'condition',
      'condition for a usable result: tool:/pointer, or with =, !=, >, >=, <, <= or =~ and a value',
      { repeatable: true },
    ],
    sidecar: [
      'url',
      'admin port of the sidecar, such as http://127.0.0.1:15390, for the origin of errors without a marker (resets, hangs, rules with marker: false); repeat it for more',
      { repeatable: true },
    ],
  }),
  ...readTokenFlag(CHECKS),
  ...flagGroup(CHECKS, {
    'record-baseline': ['file', 'write the shape of the results, in a run without faults'],
    baseline: [
      'file',
      'file of --record-baseline; results that lack parts of the baseline are not usable',
    ],
    slo: [
      'gate',
      'gate such as "p99<2s", "success>99%" or "blast<5%"; the exit code is 1 when a gate fails',
      { repeatable: true },
    ],
  }),
  ...flagGroup('Output:', {
    json: 'print the result as JSON, and nothing else',
    out: ['file', 'write the result as JSON'],
    report: ['file', 'write an HTML report'],
    junit: ['file', 'write the gates as JUnit XML, which CI systems show as tests'],
    metrics: [
      'address',
      'address at which Prometheus can scrape the load while it runs, such as 127.0.0.1:9464',
    ],
    'metrics-hosts': [
      'names',
      'host names that --metrics accepts, besides addresses, names without a dot and names in a cluster',
      { repeatable: true },
    ],
  }),
]

type Flag = (typeof FLAGS)[number]['name']

export const LOAD = defineCommand({
  name: 'load',
  examples: [
    'load --target http://localhost:8080/mcp --tasks 500 --fan-out 8',
    'load --target http://localhost:8080/mcp --rate 200/s --duration 60s --slo "p99<2s"',
    'load --target http://localhost:8080/mcp --tasks 500 --slo "blast<5%" --report report.html',
  ],
  page: 'docs/guides/load.md',
  description: 'call the tools of an MCP endpoint and measure the results',
  flags: FLAGS,
  note: `
Exit code: 0 when every --slo passed, 1 when one failed or the load could not begin, 2 for bad
usage, 130 when the load was ended early.`,
  parse: parseLoad,
  start: async (request) => (await import('../load/load.ts')).loadCommand(request),
})

/** The options of `squall load`, before its files are read. */
export type LoadRequest = ReturnType<typeof parseLoad>

const SHARD_FORM = 'write index/count, such as 0/4, or /4 where JOB_COMPLETION_INDEX is set'
const MAX_SHARDS = 10_000

function parseLoad(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(FLAGS, raw, env)
  const text = (name: Flag): string | undefined => flags.optional(name)?.text
  const count = (name: Flag, min: number, max: number): number =>
    parseCount(flags.required(name), { min, max })
  const client = flags.required('client')
  const fanOut = count('fan-out', 1, 1000)
  const url = parseTarget(flags.optional('target'))
  refuseProduction(parseProduction(flags, env), urlNames('--target', url))
  return {
    url,
    client: parseChoice(client, CLIENT_KINDS),
    connections: count('connections', 1, 50_000),
    protocolVersion: flags.parsed('protocol-version', parseProtocolVersion),
    headers: parseHeaders(flags.all('header')),
    authTokenFile: text('auth-token-file'),
    tools: flags
      .all('tools')
      .flatMap((given) => given.text.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    /** True when tools without hints may be called. */
    yes: flags.switch('yes'),
    /** The sidecars that attribute errors without a marker. */
    sidecars: sidecarsOf(flags, env, client.text),
    callsFile: text('calls'),
    fanOut,
    sequential: flags.switch('sequential'),
    pace: parsePace(flags),
    resilience: parseResilience(flags, fanOut),
    expect: flags.all('expect'),
    slo: flags.all('slo'),
    recordBaseline: text('record-baseline'),
    baselineFile: text('baseline'),
    seed: count('seed', 0, 2 ** 32 - 1),
    shard: flags.parsed('shard', (given) => parseShard(given, env)),
    json: flags.switch('json'),
    out: text('out'),
    report: text('report'),
    junit: text('junit'),
    metrics: flags.parsed('metrics', parseListen),
    metricsHosts: parseHosts(flags, 'metrics-hosts'),
  }
}

// Each sidecar is polled ten times a second.
const MAX_SIDECARS = 32
const ADMIN_FORM = 'write the URL of the admin port, such as http://127.0.0.1:15390'

function sidecarsOf(
  flags: FlagValues<Flag>,
  env: Environment,
  client: string,
): readonly SidecarAdmin[] {
  const given = flags.all('sidecar')
  if (given.length === 0) return []
  if (given.length > MAX_SIDECARS) {
    const wrong = `--sidecar is given ${given.length} times`
    throw new UsageError('BAD_VALUE', wrong, `use at most ${MAX_SIDECARS}`)
  }
  if (client !== 'lean') {
    throw badCombination('--sidecar needs --client lean', 'leave one out')
  }
  const readToken = parseReadToken(flags, env)
  return given.map((each) => ({ url: parseTarget(each, ADMIN_FORM), readToken }))
}

function parseProtocolVersion({ text, source }: Given): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text
  throw badValue(
    { text, source },
    'is not a protocol version',
    'write its date, such as 2025-11-25',
  )
}

/** Parses the part of the load to run. `/4` takes the index of a pod of an indexed Job. */
function parseShard({ text, source }: Given, env: Environment): Shard {
  const match = /^(\d{0,5})\/(\d{1,5})$/.exec(text)
  const index = match?.[1] === '' ? (env['JOB_COMPLETION_INDEX'] ?? '') : match?.[1]
  if (match === null || index === undefined || !/^\d{1,5}$/.test(index)) {
    throw badValue({ text, source }, 'is not a shard', SHARD_FORM)
  }
  const shard = { index: Number(index), count: Number(match[2]) }
  if (shard.count >= 1 && shard.count <= MAX_SHARDS && shard.index < shard.count) return shard
  throw badOption(
    source,
    `there is no shard ${shard.index} of ${shard.count}`,
    'use an index from 0 to the count minus 1',
  )
}
