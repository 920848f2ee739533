import { lookup } from 'node:dns/promises'
import { type Destination, parseCidr, parseDestination, parsePort } from '#protocol'
import { type Capture, isUncapturable, type Excluded } from '../redirect/outbound-rules.ts'
import type { Redirect } from '../redirect/ruleset.ts'
import {
  atMost,
  type Environment,
  type FlagInput,
  invalidOption,
  invalidValue,
  parseCount,
} from '#cli'

const MAX_CAPTURES = 64
const MAX_USERS = 64
/** The highest number stands for no user and no group. */
export const IDS = { min: 0, max: 2 ** 32 - 2 } as const
const FORM =
  'write PORT=LISTENER or NETWORK:PORT=LISTENER, such as 5432=15301, 10.0.0.0/8:5432=15301 or [fd00::/8]:5432=15301'
export const UNREDIRECTED = 'use listener ports that are not redirected themselves'
const HOST = 'KUBERNETES_SERVICE_HOST'
const PORT = 'KUBERNETES_SERVICE_PORT'

/** Parses `--outbound`. Throws a `UsageError`. */
export function parseCaptures(all: readonly FlagInput[]): readonly Capture[] {
  atMost(MAX_CAPTURES, all)
  const captures: Capture[] = []
  for (const given of all) {
    const capture = captureOf(given)
    rejectClash(capture, captures, given)
    captures.push(capture)
  }
  return captures
}

/** Parses `--outbound-uid`. Throws a `UsageError`. */
export function parseUids(all: readonly FlagInput[]): readonly number[] {
  atMost(MAX_USERS, all)
  return [...new Set(all.map((given) => parseCount(given, IDS)))]
}

function captureOf(given: FlagInput): Capture {
  const [from = '', listener = '', ...more] = given.text.split('=')
  const to = parsePort(listener)
  const found = parseDestination(/^\d+$/.test(from) ? `*:${from}` : from)
  if (found === undefined || to === undefined || to === 0 || more.length > 0) {
    throw invalidValue(given, 'is not a valid outbound capture', FORM)
  }
  const { port, network } = found
  rejectHost(found, to, given)
  if (port !== to) return { port, network, to }
  const fix = 'use the port of a listener of squall run'
  throw invalidValue(given, 'redirects a port to itself', fix)
}

/** Rejects hosts that rules of the kernel cannot name, and addresses that never leave the pod. */
function rejectHost({ host, network, port }: Destination, to: number, given: FlagInput): void {
  if (network === undefined && host !== '*') {
    const fix = `write its addresses, or ${port}=${to} for the whole port`
    throw invalidValue(given, 'has a host name, which nftables does not resolve', fix)
  }
  if (network === undefined || !isUncapturable(network)) return
  throw invalidValue(
    given,
    'has loopback, link-local or IPv4-mapped addresses, which cannot be captured',
    'use an explicit route: squall run --outbound',
  )
}

function rejectClash({ network, port, to }: Capture, others: readonly Capture[], given: FlagInput) {
  const same = others.find((other) => other.port === port)
  if (others.some((other) => other.port === port && other.network?.text === network?.text)) {
    throw invalidValue(given, 'duplicate target', 'remove one of them')
  }
  // The listener reads the address of the destination alone.
  if (others.some((other) => other.to === to && other.port !== port)) {
    const wrong = `the listener port ${to} is used for two captured ports`
    throw invalidOption(given.source, wrong, 'use one listener for each captured port')
  }
  if (same !== undefined && same.to !== to) {
    const wrong = `port ${port} has two listeners`
    throw invalidOption(given.source, wrong, `use ${same.to} for both`)
  }
}

/** Rejects listeners that are also ports of captures or of redirects. Throws a `UsageError`. */
export function rejectListeners(
  captures: readonly Capture[],
  redirects: readonly Redirect[],
): void {
  const others = redirects.flatMap(({ from, to }) => [from, to])
  const ports = [...captures.map(({ port }) => port), ...others]
  const clash =
    captures.find(({ to }) => ports.includes(to)) ??
    captures.find(({ port }) => redirects.some(({ to }) => to === port))
  if (clash === undefined) return
  const wrong = `${clash.port}=${clash.to} uses a port of another redirect`
  throw invalidOption('--outbound', wrong, UNREDIRECTED)
}

/** Formats a capture for the output of the command. */
export function captureText({ network, port, to }: Capture): string {
  if (network === undefined) return `${port} to ${to}`
  const address = network.family === 'ipv6' ? `[${network.text}]` : network.text
  return `${address}:${port} to ${to}`
}

export type ApiServer = NonNullable<ReturnType<typeof apiServerOf>>

/**
 * Returns the address of the API server, as a pod receives it; undefined outside of a pod. Throws a
 * `UsageError`.
 */
export function apiServerOf(env: Environment) {
  const { [HOST]: host, [PORT]: text = '443' } = env
  if (host === undefined || host === '') return undefined
  const port = parsePort(text)
  if (port !== undefined && port !== 0) return { host, port }
  throw invalidValue(
    { text, source: PORT },
    'is not a port',
    'leave it unset, so that Kubernetes sets it',
  )
}

/** Returns the addresses of the API server, whose host may be a name. Throws a `UsageError`. */
export async function apiServerAddresses(
  server: ApiServer | undefined,
  captures: readonly Capture[],
): Promise<readonly Excluded[]> {
  if (server === undefined || !captures.some(({ port }) => port === server.port)) return []
  const found = await lookup(server.host, { all: true }).catch(() => {
    const wrong = 'is not an address, and cannot be resolved'
    const fix = 'set it to the address of the API server, which is not captured'
    throw invalidValue({ text: server.host, source: HOST }, wrong, fix)
  })
  return found.flatMap(({ address }) => {
    const network = parseCidr(address)
    return network === undefined ? [] : [{ network, port: server.port }]
  })
}
