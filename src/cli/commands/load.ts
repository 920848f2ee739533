import { quoted } from '../../base/text/foreign-text.ts'
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
import { badCombination, badValue, UsageError } from '../flags/usage-error.ts'
import { defineCommand } from '../flags/command.ts'
import { parseHeaders } from '../load/load-headers.ts'
import { PACE_FLAGS, parsePace, parseResilience } from '../load/pace-flags.ts'

const TARGET = 'What is called:'
const CHECKS = 'How results are judged:'

const FLAGS = [
  ...flagGroup(TARGET, {
    target: ['url', 'URL of the MCP endpoint, such as http://localhost:3000/mcp'],
    tools: [
      'names',
      'exact names of tools to call, separated by commas, with arguments made from their schemas; without these and --calls the tools that say that they only read (readOnlyHint)',
      { repeatable: true },
    ],
    yes: 'call also tools that do not say whether they only read; tools that say that they write, or destroy, have to be named',
    calls: ['file', 'YAML file of calls with their arguments, weights and expectations'],
    client: [
      'kind',
      'lean for volume; sdk-v1 or sdk-v2 for what real clients make of it',
      { default: 'lean' },
    ],
    'protocol-version': [
      'date',
      'protocol version to ask for; the newest that the server has by default',
    ],
    header: [
      'name=value',
      'header of every request; never shown and not in the result',
      { repeatable: true },
    ],
    'auth-token-file': ['file', 'file with a token that is sent as Authorization: Bearer'],
  }),
  ...productionFlags(TARGET),
  ...PACE_FLAGS,
  ...flagGroup(CHECKS, {
    expect: [
      'condition',
      'what a result must be like to be usable: tool:/pointer, or with =, !=, >, >=, <, <= or =~ and a value',
      { repeatable: true },
    ],
    sidecar: [
      'url',
      'admin port of the sidecar, such as http://127.0.0.1:15390: asked for the origin of errors without a marker (resets, hangs, rules with marker: false); repeat it for each of several',
      { repeatable: true },
    ],
  }),
  ...readTokenFlag(CHECKS),
  ...flagGroup(CHECKS, {
    'record-baseline': ['file', 'write how the results look, on a run without faults'],
    baseline: ['file', 'results that have less than they had then are not usable'],
    slo: [
      'gate',
      'gate such as "p99<2s", "success>99%" or "blast<5%"; the exit code is 1 when one is not passed',
      { repeatable: true },
    ],
  }),
  ...flagGroup('What comes out:', {
    json: 'print the result as JSON, and nothing else',
    out: ['file', 'write the result as JSON'],
    report: ['file', 'write a report as one HTML file'],
    metrics: [
      'address',
      'where Prometheus can scrape the load while it runs, such as 127.0.0.1:9464',
    ],
    'metrics-hosts': [
      'names',
      'names by which it can be scraped, beside addresses, names without a dot and names in a cluster',
      { repeatable: true },
    ],
  }),
]

type Flag = (typeof FLAGS)[number]['name']

export const LOAD = defineCommand({
  name: 'load',
  description: 'call the tools of an MCP endpoint and measure what comes of it',
  flags: FLAGS,
  note: `
Exit code: 0 when every --slo held, 1 when one was breached or the load could not begin, 2 for bad
usage, 130 when it was ended early. Example:
  squall load --target http://localhost:8080/mcp --rate 200/s --duration 60s --slo "p99<2s"`,
  parse: parseLoad,
  start: async (request) => (await import('../load/load.ts')).loadCommand(request),
})

/** The options of `squall load`, before its files are read. */
export type LoadRequest = ReturnType<typeof parseLoad>

const TARGET_FORM = 'write the URL of the MCP endpoint, such as http://localhost:3000/mcp'

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
    /** Tools without hints may be called. */
    yes: flags.switch('yes'),
    /** Asked for the faults of responses without a marker. */
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
    metrics: flags.parsed('metrics', parseListen),
    metricsHosts: parseHosts(flags, 'metrics-hosts'),
  }
}

// Each sidecar is asked ten times a second.
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
    throw badCombination('--sidecar goes with --client lean', 'leave one out')
  }
  const readToken = parseReadToken(flags, env)
  return given.map((each) => ({ url: parseTarget(each, ADMIN_FORM), readToken }))
}

function parseProtocolVersion({ text, source }: Given): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text
  throw badValue({ text, source }, 'is no protocol version', 'write it as 2025-11-25 or 2026-07-28')
}

/** Parses the part of the load to run. In an indexed Job of Kubernetes, `/4` takes the index of the pod. */
function parseShard({ text, source }: Given, env: Environment): Shard {
  const match = /^(\d{0,5})\/(\d{1,5})$/.exec(text)
  const index = match?.[1] === '' ? (env['JOB_COMPLETION_INDEX'] ?? '') : match?.[1]
  if (match === null || index === undefined || !/^\d{1,5}$/.test(index)) {
    throw badValue({ text, source }, 'is no shard', SHARD_FORM)
  }
  const shard = { index: Number(index), count: Number(match[2]) }
  if (shard.count >= 1 && shard.count <= MAX_SHARDS && shard.index < shard.count) return shard
  throw new UsageError(
    'BAD_VALUE',
    `${source}: there is no shard ${shard.index} of ${shard.count}`,
    'the first index is 0, and the last one is one less than the count',
  )
}

function parseTarget(given: Given | undefined, form = TARGET_FORM): URL {
  if (given === undefined) throw new UsageError('MISSING_VALUE', '--target is missing', TARGET_FORM)
  const { text, source } = given
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Not repeated where it may hold a password.
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw new UsageError(
      'BAD_ADDRESS',
      `${source}: the URL holds a user name or password`,
      'give them with --header or --auth-token-file',
    )
  }
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new UsageError('BAD_ADDRESS', `${source}: ${quoted(text)} is no http or https URL`, form)
}
