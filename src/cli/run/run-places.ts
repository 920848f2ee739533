import { networkInterfaces } from 'node:os'
import { formatListen, type ListenAddress } from '../../http/address.ts'
import { formatUpstream, type UpstreamAddress } from '../../upstream/address.ts'
import { loops, overlaps, parseListen, parseUpstream, parseUpstreamHost } from '../flags/address.ts'
import type { RunFlag } from '../flags/flag-table.ts'
import type { FlagValues, Given } from '../flags/flag-values.ts'
import type { Route } from './run-options.ts'
import { UsageError } from '../flags/usage-error.ts'

// Each pair is checked against every other one; nobody fronts more apps than this with one sidecar.
const MAX_ROUTES = 64

/** The addresses of a run, checked against each other. */
export interface Places {
  readonly routes: readonly [Route, ...Route[]]
  readonly admin: ListenAddress | undefined
}

interface Named {
  readonly address: ListenAddress
  readonly source: string
}

/** Pairs listeners with upstreams, and refuses what would loop or could not be bound. */
export function parsePlaces(flags: FlagValues<RunFlag>): Places {
  const listens = flags.all('listen')
  const upstreams = flags.all('upstream')
  if (listens.length !== upstreams.length) throw uneven(listens.length, upstreams.length)
  if (listens.length > MAX_ROUTES) {
    throw new UsageError(
      'BAD_COMBINATION',
      `--listen is given ${listens.length} times`,
      `use at most ${MAX_ROUTES}`,
    )
  }
  const moved = flags.optional('upstream-host')
  const bound: Named[] = []
  const routes = listens.map((given, i): Route => {
    const listen = parseListen(given.text, given.source)
    bound.push({ address: listen, source: given.source })
    const { text, source } = upstreams[i]!
    return { listen, upstream: movedTo(moved, parseUpstream(text, source)) }
  })
  const admin = parseAdmin(flags.required('admin'))
  if (admin !== undefined) bound.push(admin)
  refuseOverlaps(bound)
  refuseLoops(bound, routes)
  return { routes: routes as [Route, ...Route[]], admin: admin?.address }
}

/** The same app at another host: where its address is known only when the pod runs. */
function movedTo(moved: Given | undefined, upstream: UpstreamAddress): UpstreamAddress {
  if (moved === undefined) return upstream
  const host = parseUpstreamHost(moved.text, moved.source)
  if (upstream.kind === 'tcp') return { ...upstream, host }
  throw new UsageError(
    'BAD_COMBINATION',
    `${moved.source}: ${formatUpstream(upstream)} has no host that could be replaced`,
    'leave it out, or give --upstream as a URL',
  )
}

function parseAdmin({ text, source }: Given): Named | undefined {
  return text === 'off' ? undefined : { address: parseListen(text, source), source }
}

function refuseOverlaps(bound: readonly Named[]): void {
  bound.forEach(({ address, source }, i) => {
    const before = bound.slice(0, i).find((other) => overlaps(other.address, address))
    if (before === undefined) return
    throw new UsageError(
      'BAD_COMBINATION',
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
    const hit = bound.find(({ address }) => loops(address, upstream, own))
    if (hit === undefined) continue
    throw new UsageError(
      'LOOP',
      `--upstream ${formatUpstream(upstream)} is where ${hit.source} ${formatListen(hit.address)} listens`,
      'point --upstream at the app',
    )
  }
}

function uneven(listens: number, upstreams: number): UsageError {
  return new UsageError(
    'BAD_COMBINATION',
    `--listen has ${listens} ${listens === 1 ? 'address' : 'addresses'} and --upstream ${upstreams}`,
    'give one --upstream for each --listen, in the same order',
  )
}
