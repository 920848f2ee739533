import { quoted } from '../../base/text/foreign-text.ts'
import type { ListenAddress } from '../../http/address.ts'
import type { SidecarAdmin } from '../../admin/api-client.ts'
import type { ClientKind, Shard } from '../../lab/load/results/result.ts'
import type { LoadPace, LoadResilience } from '../../lab/load/load-options.ts'
import { CLIENT_KINDS } from '../../lab/load/results/result.ts'
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
import { parseShard } from './load-shard.ts'
import { parseTarget } from './load-target.ts'

/** Everything that `squall load` was told; its files are still to be read. */
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
    const given = flags.required(name)
    return parseCount(given.text, given.source, { min, max })
  }
  const client = flags.required('client')
  const metrics = flags.optional('metrics')
  const fanOut = count('fan-out', 1, 1000)
  const url = parseTarget(flags.optional('target'))
  refuseProduction(parseProduction(flags, env), urlNames('--target', url))
  return {
    url,
    client: parseChoice(client.text, client.source, CLIENT_KINDS),
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
    metrics: metrics === undefined ? undefined : parseListen(metrics.text, metrics.source),
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
