import type { Pair } from '../../listener/sidecar-options.ts'
import { networkInterfaces } from 'node:os'
import { formatListen, type ListenAddress } from '../../http/address.ts'
import { formatUpstream, type UpstreamAddress } from '../../upstream/address.ts'
import { loops, overlaps, parseListen, parseUpstream, parseUpstreamHost } from '../flags/address.ts'
import { flagGroup, type FlagValues, type Given } from '../flags/flag-values.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { type AppProbes, AppProbesError, parseAppProbesJson } from '../../admin/probes/app-probe.ts'
import { adminAccessFlags } from '../flags/admin-access.ts'
import { badAddress, badCombination, badOption, UsageError } from '../flags/usage-error.ts'

const PLACES = 'Addresses:'

/** Declares the options of `squall run` about addresses. */
export const PLACE_FLAGS = [
  ...flagGroup(PLACES, {
    listen: [
      'address',
      'address to listen on: host:port, :port or unix:/path.sock; repeat it for more',
      { repeatable: true, default: '127.0.0.1:15300' },
    ],
    upstream: [
      'url',
      'address of the app: http://host:port, https://host or unix:/path.sock; one for each --listen, in the same order',
      { repeatable: true, default: 'http://127.0.0.1:3000' },
    ],
    admin: [
      'address',
      'address of health, readiness, metrics and the rules API; off for none',
      { default: '127.0.0.1:15390' },
    ],
    'admin-token-file': [
      'path',
      'file with the token that is required for changes by the admin port (or SQUALL_ADMIN_TOKEN itself); without a token it is read-only',
    ],
  }),
  ...adminAccessFlags(PLACES),
  ...flagGroup(PLACES, {
    'upstream-host': [
      'host',
      'host that replaces the host of every --upstream, such as the address of the pod',
    ],
    'public-url': [
      'url',
      'URL by which clients reach every --listen: replaces the address of the app in WWW-Authenticate and in OAuth protected resource metadata; without it both pass unchanged',
    ],
    'app-probes': [
      'json',
      'probes and hooks of the app that the admin port performs without faults: "container/readyz" → handler, as JSON',
    ],
    control: [
      'socket',
      'socket for squall pre-stop, in a directory that only this container sees: unix:/path.sock',
    ],
  }),
]

type PlaceFlag = (typeof PLACE_FLAGS)[number]['name']

const LOOPBACK = '127.0.0.1'
// Each pair is compared with every other pair.
const MAX_PAIRS = 64

/** The addresses of a run, which do not conflict. */
export interface Places {
  readonly pairs: readonly [Pair, ...Pair[]]
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
  if (listens.length > MAX_PAIRS) {
    throw badCombination(`--listen is given ${listens.length} times`, `use at most ${MAX_PAIRS}`)
  }
  const moved = flags.optional('upstream-host')
  const bound: Named[] = []
  const pairs = listens.map((given, i): Pair => {
    const listen = parseListen(given)
    bound.push({ address: listen, source: given.source })
    return { listen, upstream: movedTo(moved, parseUpstream(upstreams[i]!)) }
  })
  const admin = parseAdmin(flags.required('admin'))
  if (admin !== undefined) bound.push(admin)
  refuseOverlaps(bound)
  refuseLoops(bound, pairs)
  return { pairs: pairs as [Pair, ...Pair[]], admin: admin?.address }
}

/** Replaces the host of an upstream, for addresses that are known only when the pod runs. */
function movedTo(moved: Given | undefined, upstream: UpstreamAddress): UpstreamAddress {
  if (moved === undefined) return upstream
  const host = parseUpstreamHost(moved)
  if (upstream.kind === 'tcp') return { ...upstream, host }
  throw badCombination(
    `${moved.source}: ${formatUpstream(upstream)} has no host to replace`,
    'leave it out, or write --upstream as a URL',
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

function refuseLoops(bound: readonly Named[], pairs: readonly Pair[]): void {
  const own = Object.values(networkInterfaces()).flatMap(
    (addresses) => addresses?.map(({ address }) => address) ?? [],
  )
  for (const { upstream } of pairs) {
    const looped = bound.find(({ address }) => loops(address, upstream, own))
    if (looped === undefined) continue
    throw new UsageError(
      'LOOP',
      `--upstream ${formatUpstream(upstream)} is the address of ${looped.source} ${formatListen(looped.address)}`,
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
      `${given.source}: the admin port, which performs the probes, is off`,
      'give --admin an address',
    )
  }
  try {
    return parseAppProbesJson(given.text, host)
  } catch (error) {
    if (!(error instanceof AppProbesError)) throw error
    throw badOption(
      given.source,
      error.message,
      'write {"container/readyz": {"httpGet": {"path": "/", "port": 3000}}}',
    )
  }
}

/** Returns the URL by which clients reach Squall, without a slash at its end. */
export function parsePublicUrl({ text, source }: Given): string {
  if (text.includes('@')) {
    // The text may hold a password, so it is not repeated.
    throw badAddress(
      source,
      'the URL holds a user name or password',
      'leave it out: clients send theirs',
    )
  }
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) {
    const form = 'write the URL that clients use, such as https://mcp.example.com'
    throw badAddress(source, `${quoted(text)} is not an http or https URL`, form)
  }
  if (/[?#]/.test(text)) {
    throw badAddress(
      source,
      `${quoted(text)} has a query or a fragment`,
      'end the URL after its path',
    )
  }
  const { origin, pathname } = new URL(text)
  return origin + pathname.replace(/\/+$/, '')
}
