import { networkInterfaces } from 'node:os'
import { formatListen, type ListenAddress } from '../../http/address.ts'
import { formatUpstream, type UpstreamAddress } from '../../upstream/address.ts'
import { loops, overlaps, parseListen, parseUpstream, parseUpstreamHost } from '../flags/address.ts'
import { flagGroup, type FlagValues, type Given } from '../flags/flag-values.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { type AppProbes, AppProbesError, parseAppProbesJson } from '../../admin/probes/app-probe.ts'
import { adminAccessFlags } from '../flags/admin-access.ts'
import { badCombination, UsageError } from '../flags/usage-error.ts'

const PLACES = 'Where to listen and where to send:'

/** The options of `squall run` about addresses. */
export const PLACE_FLAGS = [
  ...flagGroup(PLACES, {
    listen: [
      'address',
      'address to take traffic on: host:port, :port or unix:/path.sock; repeat it for more',
      { repeatable: true, default: '127.0.0.1:15300' },
    ],
    upstream: [
      'url',
      'where the app is: http://host:port, https://host or unix:/path.sock; one for each --listen, in the same order',
      { repeatable: true, default: 'http://127.0.0.1:3000' },
    ],
    admin: [
      'address',
      'address of health, readiness, metrics and the API of rules; off for none',
      { default: '127.0.0.1:15390' },
    ],
    'admin-token-file': [
      'path',
      'file with the token that changes by the admin port need (or SQUALL_ADMIN_TOKEN itself); without one nothing can be changed there',
    ],
  }),
  ...adminAccessFlags(PLACES),
  ...flagGroup(PLACES, {
    'upstream-host': [
      'host',
      'host that replaces the one of every --upstream, such as the address of the pod',
    ],
    'public-url': [
      'url',
      'URL by which clients reach every --listen: replaces the address of the app in WWW-Authenticate and in the metadata of OAuth-protected resources; without it both pass unchanged',
    ],
    'app-probes': [
      'json',
      'probes and hooks of the app, done unfaulted by the admin port: "container/readyz" → handler, as JSON',
    ],
    control: [
      'socket',
      'socket for squall pre-stop, in a place that only this container sees: unix:/path.sock',
    ],
  }),
]

type PlaceFlag = (typeof PLACE_FLAGS)[number]['name']

const LOOPBACK = '127.0.0.1'
// Each pair is compared with every other pair.
const MAX_ROUTES = 64

/** One listening address and the app behind it. */
export interface Route {
  readonly listen: ListenAddress
  readonly upstream: UpstreamAddress
}

/** The addresses of a run, which do not conflict. */
export interface Places {
  readonly routes: readonly [Route, ...Route[]]
  readonly admin: ListenAddress | undefined
}

interface Named {
  readonly address: ListenAddress
  readonly source: string
}

/** Pairs listeners with upstreams; rejects loops and addresses that conflict. */
export function parsePlaces(flags: FlagValues<PlaceFlag>): Places {
  const listens = flags.all('listen')
  const upstreams = flags.all('upstream')
  if (listens.length !== upstreams.length) throw uneven(listens.length, upstreams.length)
  if (listens.length > MAX_ROUTES) {
    throw badCombination(`--listen is given ${listens.length} times`, `use at most ${MAX_ROUTES}`)
  }
  const moved = flags.optional('upstream-host')
  const bound: Named[] = []
  const routes = listens.map((given, i): Route => {
    const listen = parseListen(given)
    bound.push({ address: listen, source: given.source })
    return { listen, upstream: movedTo(moved, parseUpstream(upstreams[i]!)) }
  })
  const admin = parseAdmin(flags.required('admin'))
  if (admin !== undefined) bound.push(admin)
  refuseOverlaps(bound)
  refuseLoops(bound, routes)
  return { routes: routes as [Route, ...Route[]], admin: admin?.address }
}

/** Returns the same app at another host: where its address is known only when the pod runs. */
function movedTo(moved: Given | undefined, upstream: UpstreamAddress): UpstreamAddress {
  if (moved === undefined) return upstream
  const host = parseUpstreamHost(moved)
  if (upstream.kind === 'tcp') return { ...upstream, host }
  throw badCombination(
    `${moved.source}: ${formatUpstream(upstream)} has no host that could be replaced`,
    'leave it out, or give --upstream as a URL',
  )
}

function parseAdmin(given: Given): Named | undefined {
  const { text, source } = given
  return text === 'off' ? undefined : { address: parseListen(given), source }
}

function refuseOverlaps(bound: readonly Named[]): void {
  bound.forEach(({ address, source }, i) => {
    const before = bound.slice(0, i).find((other) => overlaps(other.address, address))
    if (before === undefined) return
    throw badCombination(
      `${source}: ${formatListen(address)} is taken by ${before.source} ${formatListen(before.address)}`,
      'use another port or path',
    )
  })
}

function refuseLoops(bound: readonly Named[], routes: readonly Route[]): void {
  const own = Object.values(networkInterfaces()).flatMap(
    (addresses) => addresses?.map(({ address }) => address) ?? [],
  )
  for (const { upstream } of routes) {
    const looped = bound.find(({ address }) => loops(address, upstream, own))
    if (looped === undefined) continue
    throw new UsageError(
      'LOOP',
      `--upstream ${formatUpstream(upstream)} is where ${looped.source} ${formatListen(looped.address)} listens`,
      'point --upstream at the app',
    )
  }
}

function uneven(listens: number, upstreams: number): UsageError {
  return badCombination(
    `--listen has ${listens} ${listens === 1 ? 'address' : 'addresses'} and --upstream ${upstreams}`,
    'give one --upstream for each --listen, in the same order',
  )
}

/** Returns the probes that the admin port performs for the kubelet. Throws nothing but a `UsageError`. */
export function parseAppProbes(flags: FlagValues<PlaceFlag>): AppProbes {
  const given = flags.optional('app-probes')
  if (given === undefined) return []
  const host = flags.parsed('upstream-host', parseUpstreamHost) ?? LOOPBACK
  if (flags.required('admin').text === 'off') {
    throw badCombination(
      `${given.source}: there is no admin port that could be asked`,
      'give --admin an address',
    )
  }
  try {
    return parseAppProbesJson(given.text, host)
  } catch (error) {
    if (!(error instanceof AppProbesError)) throw error
    throw new UsageError(
      'BAD_VALUE',
      `${given.source}: ${error.message}`,
      'write {"container/readyz": {"httpGet": {"path": "/", "port": 3000}}}',
    )
  }
}

/** Returns the URL by which clients reach Squall, without a slash at its end. */
export function parsePublicUrl({ text, source }: Given): string {
  if (text.includes('@')) {
    // Not repeated: it may hold a password.
    throw badUrl(
      source,
      'the URL holds a user name or password',
      'leave it out: clients send theirs',
    )
  }
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) {
    const form = 'write the URL that clients are given, such as https://mcp.example.com'
    throw badUrl(source, `${quoted(text)} is not an http or https URL`, form)
  }
  if (/[?#]/.test(text)) {
    throw badUrl(source, `${quoted(text)} has a query or a fragment`, 'end the URL after its path')
  }
  const { origin, pathname } = new URL(text)
  return origin + pathname.replace(/\/+$/, '')
}

function badUrl(source: string, wrong: string, fix: string): UsageError {
  return new UsageError('BAD_ADDRESS', `${source}: ${wrong}`, fix)
}
