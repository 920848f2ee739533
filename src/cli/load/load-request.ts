import { quoted } from '../../base/text/foreign-text.ts'
import type { ListenAddress } from '../../http/address.ts'
import type { SidecarAdmin } from '../../admin/api-client.ts'
import { type ClientKind, type Shard, CLIENT_KINDS } from '../../lab/load/results/result.ts'
import type { LoadPace, LoadResilience } from '../../lab/load/load-options.ts'
import { parseListen } from '../flags/address.ts'
import { urlNames } from '../../rules/guard/production-names.ts'
import { type Environment, FlagValues, type Given, type RawFlags } from '../flags/flag-values.ts'
import { parseProduction, refuseProduction } from '../flags/production.ts'
import { parseHosts, parseReadToken } from '../run/run-admin-token.ts'
import { parseChoice, parseCount } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import { LOAD_FLAGS, type LoadFlag } from './load-flags.ts'
import { parseHeaders } from './load-headers.ts'
import { parsePace, parseResilience } from './load-pace.ts'

const TARGET_FORM = 'write the URL of the MCP endpoint, such as http://localhost:3000/mcp'

const SHARD_FORM = 'write index/count, such as 0/4, or /4 where JOB_COMPLETION_INDEX is set'
const MAX_SHARDS = 10_000

/** The options of `squall load`, before its files are read. */
export interface LoadRequest {
  readonly url: URL
  readonly client: ClientKind
  readonly connections: number
  readonly protocolVersion: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly authTokenFile: string | undefined
  readonly tools: readonly string[]
  /** Tools without hints may be called. */
  readonly yes: boolean
  /** Asked for the faults of responses without a mark. */
  readonly sidecars: readonly SidecarAdmin[]
  readonly callsFile: string | undefined
  readonly fanOut: number
  readonly sequential: boolean
  readonly pace: LoadPace
  readonly resilience: LoadResilience
  readonly expect: readonly Given[]
  readonly slo: readonly Given[]
  readonly recordBaseline: string | undefined
  readonly baselineFile: string | undefined
  readonly seed: number
  readonly shard: Shard | undefined
  readonly json: boolean
  readonly out: string | undefined
  readonly report: string | undefined
  readonly metrics: ListenAddress | undefined
  readonly metricsHosts: readonly string[]
}

/** Checks what the command line and the environment say. Throws nothing but a `UsageError`. */
export function parseLoad(raw: RawFlags, env: Environment): LoadRequest {
  const flags = new FlagValues<LoadFlag>(LOAD_FLAGS, raw, env)
  const text = (name: LoadFlag): string | undefined => flags.optional(name)?.text
  const count = (name: LoadFlag, min: number, max: number): number => {
    return parseCount(flags.required(name), { min, max })
  }
  const client = flags.required('client')
  const metrics = flags.optional('metrics')
  const fanOut = count('fan-out', 1, 1000)
  const url = parseTarget(flags.optional('target'))
  refuseProduction(parseProduction(flags, env), urlNames('--target', url))
  return {
    url,
    client: parseChoice(client, CLIENT_KINDS),
    connections: count('connections', 1, 50_000),
    protocolVersion: protocolVersionOf(flags),
    headers: parseHeaders(flags.all('header')),
    authTokenFile: text('auth-token-file'),
    tools: flags
      .all('tools')
      .flatMap((given) => given.text.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    yes: flags.switch('yes'),
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
    shard: parseShard(flags.optional('shard'), env),
    json: flags.switch('json'),
    out: text('out'),
    report: text('report'),
    metrics: metrics === undefined ? undefined : parseListen(metrics),
    metricsHosts: parseHosts(flags, 'metrics-hosts'),
  }
}

// Each is asked ten times a second.
const MAX_SIDECARS = 32
const ADMIN_FORM = 'write the URL of the admin port, such as http://127.0.0.1:15390'

function sidecarsOf(
  flags: FlagValues<LoadFlag>,
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
    throw new UsageError('BAD_COMBINATION', '--sidecar goes with --client lean', 'leave one out')
  }
  const readToken = parseReadToken(flags, env)
  return given.map((each) => ({ url: parseTarget(each, ADMIN_FORM), readToken }))
}

function protocolVersionOf(flags: FlagValues<LoadFlag>): string | undefined {
  const given = flags.optional('protocol-version')
  if (given === undefined || /^\d{4}-\d{2}-\d{2}$/.test(given.text)) return given?.text
  throw new UsageError(
    'BAD_VALUE',
    `${given.source}: ${quoted(given.text)} is no protocol version`,
    'write it as 2025-11-25 or 2026-07-28',
  )
}

/** The part of the load that is run here. In an indexed Job of Kubernetes `/4` takes its index. */
function parseShard(given: Given | undefined, env: Environment): Shard | undefined {
  if (given === undefined) return undefined
  const { text, source } = given
  const match = /^(\d{0,5})\/(\d{1,5})$/.exec(text)
  const index = match?.[1] === '' ? (env['JOB_COMPLETION_INDEX'] ?? '') : match?.[1]
  if (match === null || index === undefined || !/^\d{1,5}$/.test(index)) {
    throw new UsageError('BAD_VALUE', `${source}: ${quoted(text)} is no shard`, SHARD_FORM)
  }
  const shard = { index: Number(index), count: Number(match[2]) }
  if (shard.count >= 1 && shard.count <= MAX_SHARDS && shard.index < shard.count) return shard
  throw new UsageError(
    'BAD_VALUE',
    `${source}: there is no shard ${shard.index} of ${shard.count}`,
    'the first index is 0, and the last one is one less than the count',
  )
}

/** The URL that is called. */
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
