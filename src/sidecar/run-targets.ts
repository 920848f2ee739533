import type { Pair } from '../listener/sidecar-options.ts'
import { networkInterfaces } from 'node:os'
import { formatListen, type ListenAddress } from '../http/address.ts'
import { formatUpstream, type UpstreamAddress } from '../upstream/address.ts'
import {
  loops,
  overlaps,
  parseControl,
  parseListen,
  parseUpstream,
  parseUpstreamHost,
} from './flags/address.ts'
import { type Environment, type FlagInput, group, type Values } from '../base/flags/flag.ts'
import { asGiven, asText, many, one, oneOf, pairs as pairsOf } from '../base/flags/kinds.ts'
import { quoted } from '../base/text/foreign-text.ts'
import type { ChaosMonkey } from '../admin/compat/chaos-monkey.ts'
import { type AppProbes, AppProbesError, parseAppProbesJson } from '../admin/probes/app-probe.ts'
import { boundBy, dialledBy, type Named, type Outbound } from './outbound-options.ts'
import { adminAccessFlags } from './flags/admin-access.ts'
import {
  invalidAddress,
  invalidCombination,
  invalidOption,
  UsageError,
} from '../base/flags/usage-error.ts'

const ADDRESSES = 'Addresses:'

/** Declares the options of `squall run` about addresses. */
export const TARGET_FLAGS = {
  ...group(ADDRESSES, {
    listen: many(
      'address',
      'listen address: host:port, :port or unix:/path.sock; repeatable; no default with --outbound or --captured, unless --upstream is set',
      asGiven,
      { default: '127.0.0.1:15300' },
    ),
    upstream: many(
      'url',
      'URL of your MCP server: http://host:port, https://host or unix:/path.sock; one for each --listen, in the same order',
      asGiven,
      { default: 'http://127.0.0.1:3000' },
    ),
    admin: one(
      'address',
      'address of the admin port for health, readiness, metrics and the admin API; off disables it',
      parseAdmin,
      { default: '127.0.0.1:15390' },
    ),
    adminTokenFile: one(
      'path',
      'file with the token that clients need to make changes through the admin port (or set SQUALL_ADMIN_TOKEN); without a token, the port is read-only',
      asText,
    ),
  }),
  ...adminAccessFlags(ADDRESSES),
  ...group(ADDRESSES, {
    compatApi: one(
      'name',
      'additional API on the admin port: chaos-monkey is the API of mcp-chaos-monkey (/chaos/inject and others)',
      oneOf(['chaos-monkey']),
    ),
    compatTarget: many(
      'target=tool',
      'tool, by name or glob, that a target of --compat-api stands for; repeatable (default: the target is the tool name)',
      pairsOf,
    ),
  }),
  ...group(ADDRESSES, {
    upstreamHost: one(
      'host',
      'host that replaces the host of every --upstream, such as the pod IP',
      parseUpstreamHost,
    ),
    publicUrl: one(
      'url',
      "public URL of every --listen, which replaces the upstream's URL in WWW-Authenticate and OAuth protected resource metadata (default: no replacement)",
      parsePublicUrl,
    ),
    appProbes: one(
      'json',
      'Kubernetes probes and lifecycle hooks that the admin port sends to the upstream without faults, as JSON: {"container/readyz": handler}',
      asGiven<FlagInput>,
    ),
    control: one(
      'socket',
      'Unix socket for squall pre-stop, in a directory that no other container mounts: unix:/path.sock',
      parseControl,
    ),
  }),
}

type TargetValues = Values<typeof TARGET_FLAGS>

const LOOPBACK = '127.0.0.1'
// Each pair is compared with every other pair.
const MAX_PAIRS = 64

/** The addresses of a run, which do not conflict. */
export interface Targets {
  readonly pairs: readonly Pair[]
  readonly admin: ListenAddress | undefined
}

/** Pairs listeners with upstreams; rejects loops and addresses that conflict. */
export function targetsOf(
  { listen: listenTexts, upstream: upstreamTexts, upstreamHost, admin }: TargetValues,
  outbound: Outbound = { pairs: [], routes: [] },
): Targets {
  const carries = outbound.pairs.length + outbound.routes.length > 0
  // A sidecar that only carries traffic to dependencies serves no MCP server.
  const given = [...listenTexts, ...upstreamTexts]
  const isUnserved = carries && given.every(({ isDefault }) => isDefault)
  const listens = isUnserved ? [] : listenTexts
  const upstream = isUnserved ? [] : upstreamTexts
  if (listens.length !== upstream.length) throw uneven(listens.length, upstream.length)
  if (listens.length > MAX_PAIRS) {
    throw invalidCombination(`--listen is set ${listens.length} times`, `use at most ${MAX_PAIRS}`)
  }
  const bound: Named<ListenAddress>[] = []
  const served = listens.map((each, i): Pair => {
    const listen = parseListen(each)
    bound.push({ address: listen, source: each.source })
    return { listen, upstream: movedTo(upstreamHost, parseUpstream(upstream[i]!)) }
  })
  if (admin !== undefined) bound.push(admin)
  bound.push(...boundBy(outbound))
  rejectOverlaps(bound)
  const pairs = [...served, ...outbound.pairs]
  const dialled = served.map(({ upstream: address }) => ({ address, source: '--upstream' }))
  rejectLoops(bound, [...dialled, ...dialledBy(outbound)])
  return { pairs, admin: admin?.address }
}

/**
 * Returns the settings of `--compat-api`; undefined without it. That API has a guard of its own,
 * which nothing overrides.
 */
export function compatOf(
  { compatApi, compatTarget: tools, admin }: TargetValues,
  env: Environment,
): ChaosMonkey | undefined {
  if (compatApi === undefined) {
    if (Object.keys(tools).length === 0) return undefined
    throw invalidCombination('--compat-target needs --compat-api', 'add it, or remove both')
  }
  if (admin === undefined) {
    throw invalidCombination('--compat-api requires the admin port', 'set --admin to an address')
  }
  const isProduction = env['NODE_ENV']?.toLowerCase() === 'production'
  return { tools, never: isProduction ? 'NODE_ENV is production' : undefined }
}

/** Replaces the host of an upstream, for addresses that are known only when the pod runs. */
function movedTo(host: string | undefined, upstream: UpstreamAddress): UpstreamAddress {
  if (host === undefined) return upstream
  if (upstream.kind === 'tcp') return { ...upstream, host }
  throw invalidCombination(
    `--upstream-host: ${formatUpstream(upstream)} has no host to replace`,
    'remove it, or write --upstream as a URL',
  )
}

function parseAdmin(given: FlagInput): Named<ListenAddress> | undefined {
  return given.text === 'off' ? undefined : { address: parseListen(given), source: given.source }
}

function rejectOverlaps(bound: readonly Named<ListenAddress>[]): void {
  bound.forEach(({ address, source }, i) => {
    const before = bound.slice(0, i).find((other) => overlaps(other.address, address))
    if (before === undefined) return
    throw invalidCombination(
      `${source}: ${formatListen(address)} is already used by ${before.source} ${formatListen(before.address)}`,
      'use another port or path',
    )
  })
}

function rejectLoops(
  bound: readonly Named<ListenAddress>[],
  dialled: readonly Named<UpstreamAddress>[],
): void {
  const own = Object.values(networkInterfaces()).flatMap(
    (addresses) => addresses?.map(({ address }) => address) ?? [],
  )
  for (const { address: upstream, source } of dialled) {
    const looped = bound.find(({ address }) => loops(address, upstream, own))
    if (looped === undefined) continue
    throw new UsageError(
      'LOOP',
      `${source} ${formatUpstream(upstream)} is the address of ${looped.source} ${formatListen(looped.address)}`,
      source === '--upstream' ? 'point --upstream at your MCP server' : 'point it at a dependency',
    )
  }
}

function uneven(listens: number, upstreams: number): UsageError {
  return invalidCombination(
    `--listen has ${listens} ${listens === 1 ? 'address' : 'addresses'} and --upstream ${upstreams}`,
    'pass one --upstream for each --listen, in the same order',
  )
}

/**
 * Returns the probes that the admin port performs for the kubelet. Throws nothing but a
 * `UsageError`.
 */
export function appProbesOf({ appProbes: given, upstreamHost, admin }: TargetValues): AppProbes {
  if (given === undefined) return []
  if (admin === undefined) {
    throw invalidCombination(
      `${given.source}: the admin port, which performs the probes, is off`,
      'set --admin to an address',
    )
  }
  try {
    return parseAppProbesJson(given.text, upstreamHost ?? LOOPBACK)
  } catch (error) {
    if (!(error instanceof AppProbesError)) throw error
    throw invalidOption(
      given.source,
      error.message,
      'write {"container/readyz": {"httpGet": {"path": "/", "port": 3000}}}',
    )
  }
}

/** Returns the URL by which clients reach Squall, without a slash at its end. */
function parsePublicUrl({ text, source }: FlagInput): string {
  if (text.includes('@')) {
    // The text may hold a password, so it is not repeated.
    throw invalidAddress(
      source,
      'the URL contains a user name or password',
      'remove it: clients send theirs',
    )
  }
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) {
    const form = 'write the URL that clients use, such as https://mcp.example.com'
    throw invalidAddress(source, `${quoted(text)} must be an http or https URL`, form)
  }
  if (/[?#]/.test(text)) {
    throw invalidAddress(
      source,
      `${quoted(text)} has a query or a fragment`,
      'end the URL after its path',
    )
  }
  const { origin, pathname } = new URL(text)
  return origin + pathname.replace(/\/+$/, '')
}
